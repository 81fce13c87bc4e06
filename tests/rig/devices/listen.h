/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAB_DEVICES_LISTEN_H
#define LAB_DEVICES_LISTEN_H

/* A socket that listens at PATH, which must not exist, and does not block; or an errno. */
int listen_at(const char *path);

#endif
