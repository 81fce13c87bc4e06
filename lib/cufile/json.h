/* SPDX-License-Identifier: Apache-2.0 */
/* cufile.json, which is JSON with comments.  A key is a path: "properties.use_poll_mode". */
#ifndef CUF_JSON_H
#define CUF_JSON_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuf_json;

/* Returns 0, -ENOENT, or another -errno; then @fault says what is wrong with the file. */
int cuf_json_open(const char *path, struct cuf_json **json, char *fault, size_t fault_bytes);
void cuf_json_close(struct cuf_json *json);

/*
 * Each returns 0, -ENOENT if there is no such key, -ENOTDIR if what stands before its last "." is no object, or -EINVAL if its
 * value has another type.
 */
int cuf_json_number(const struct cuf_json *json, const char *key, uint64_t *value);
int cuf_json_bool(const struct cuf_json *json, const char *key, bool *value);
int cuf_json_text(const struct cuf_json *json, const char *key, char *text, size_t text_bytes);
/* The list ends with NULL; cuf_json_free_list() frees it. */
int cuf_json_list(const struct cuf_json *json, const char *key, char ***list);
void cuf_json_free_list(char **list);

#endif /* CUF_JSON_H */
