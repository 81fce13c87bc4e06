// SPDX-License-Identifier: Apache-2.0
/* See json.h. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cufile/json.h"

#define LONGEST_FILE	(1U << 20)

/* A struct cuf_json is json-c's root object. */
static struct json_object *root_of(const struct cuf_json *json)
{
	return (struct json_object *)json;
}

/* Returns how much it read, or -errno. */
static long read_file(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");
	size_t got;
	int failed;

	if (!file)
		return -errno;
	got = fread(text, 1, bytes, file);
	failed = ferror(file) ? -EIO : got == bytes ? -EFBIG : 0;
	fclose(file);
	return failed ? failed : (long)got;
}

static size_t line_of(const char *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

/* Skips blanks and comments behind the object; json-c would ignore a second object there. */
static const char *skip_blanks(const char *text)
{
	const char *end = "";

	while (end) {
		text += strspn(text, " \t\r\n");
		end = NULL;
		if (!strncmp(text, "//", 2))
			end = text + strcspn(text, "\n");
		else if (!strncmp(text, "/*", 2))
			end = strstr(text + 2, "*/");
		if (end)
			text = end + (*end == '*' ? 2 : 0);
	}
	return text;
}

static int parse(const char *text, size_t bytes, struct cuf_json **json, char *fault, size_t fault_bytes)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root;
	enum json_tokener_error error;
	const char *rest;

	if (!tokener)
		return -ENOMEM;
	root = json_tokener_parse_ex(tokener, text, (int)bytes + 1);	/* with the NUL, which ends a lone value */
	error = json_tokener_get_error(tokener);
	snprintf(fault, fault_bytes, "line %zu: %s", line_of(text, json_tokener_get_parse_end(tokener)),
		 json_tokener_error_desc(error));
	rest = skip_blanks(text + json_tokener_get_parse_end(tokener));
	json_tokener_free(tokener);
	*json = (struct cuf_json *)root;
	if (json_object_is_type(root, json_type_object) && rest == text + bytes)
		return 0;
	if (json_object_is_type(root, json_type_object))
		snprintf(fault, fault_bytes, "line %zu: there is something behind the object",
			 line_of(text, (size_t)(rest - text)));
	else if (error == json_tokener_success)
		snprintf(fault, fault_bytes, "it is no object");
	json_object_put(root);
	return -EINVAL;
}

int cuf_json_open(const char *path, struct cuf_json **json, char *fault, size_t fault_bytes)
{
	char *text = calloc(1, LONGEST_FILE + 1);
	long bytes = text ? read_file(path, text, LONGEST_FILE) : -ENOMEM;
	int rc;

	if (bytes < 0)
		snprintf(fault, fault_bytes, "%s", strerror((int)-bytes));
	rc = bytes < 0 ? (int)bytes : parse(text, (size_t)bytes, json, fault, fault_bytes);
	free(text);
	return rc;
}

void cuf_json_close(struct cuf_json *json)
{
	json_object_put(root_of(json));
}

/* Returns 0; -ENOENT if nothing stands there; -ENOTDIR if what should have the key is no object, and -EINVAL for null. */
static int find(const struct cuf_json *json, const char *key, struct json_object **found)
{
	struct json_object *object = root_of(json);
	char word[64];
	size_t length;

	for (; *key; key += length + (key[length] == '.')) {
		length = strcspn(key, ".");
		snprintf(word, sizeof(word), "%.*s", (int)length, key);
		if (!json_object_is_type(object, json_type_object))
			return -ENOTDIR;
		if (!json_object_object_get_ex(object, word, &object))
			return -ENOENT;
	}
	*found = object;
	return object ? 0 : -EINVAL;
}

int cuf_json_number(const struct cuf_json *json, const char *key, uint64_t *value)
{
	struct json_object *found;
	int rc = find(json, key, &found);

	if (rc)
		return rc;
	if (!json_object_is_type(found, json_type_int) || json_object_get_int64(found) < 0)
		return -EINVAL;
	*value = json_object_get_uint64(found);
	return 0;
}

int cuf_json_bool(const struct cuf_json *json, const char *key, bool *value)
{
	struct json_object *found;
	int rc = find(json, key, &found);

	if (rc)
		return rc;
	if (!json_object_is_type(found, json_type_boolean))
		return -EINVAL;
	*value = json_object_get_boolean(found);
	return 0;
}

int cuf_json_text(const struct cuf_json *json, const char *key, char *text, size_t text_bytes)
{
	struct json_object *found;
	int rc = find(json, key, &found);

	if (rc)
		return rc;
	if (!json_object_is_type(found, json_type_string) ||
	    (size_t)json_object_get_string_len(found) >= text_bytes)
		return -EINVAL;
	snprintf(text, text_bytes, "%s", json_object_get_string(found));
	return 0;
}

int cuf_json_list(const struct cuf_json *json, const char *key, char ***list)
{
	struct json_object *found, *entry;
	int rc = find(json, key, &found);
	size_t count;
	char **made;

	if (rc)
		return rc;
	if (!json_object_is_type(found, json_type_array))
		return -EINVAL;
	count = json_object_array_length(found);
	made = calloc(count + 1, sizeof(*made));
	for (size_t i = 0; made && i < count; i++) {
		entry = json_object_array_get_idx(found, i);
		made[i] = json_object_is_type(entry, json_type_string) ? strdup(json_object_get_string(entry)) : NULL;
		if (!made[i]) {
			cuf_json_free_list(made);
			return -EINVAL;
		}
	}
	*list = made;
	return made ? 0 : -ENOMEM;
}

void cuf_json_free_list(char **list)
{
	for (char **entry = list; entry && *entry; entry++)
		free(*entry);
	free(list);
}
