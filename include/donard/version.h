/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The version of this release: module, library and programs have the same.
 *
 * Releases before 1.0 may change the library's interface, and then raise
 * DONARD_VERSION_MINOR; the number in the library's file name, libdonard.so.0,
 * stays 0 until 1.0.  From 1.0 on a change that breaks a program which was
 * linked before raises DONARD_VERSION_MAJOR and that number with it.  Members
 * appended to a structure, values appended to an enumeration and new functions
 * break nothing: see the conventions in donard.h.
 */
#ifndef DONARD_VERSION_H
#define DONARD_VERSION_H

#define DONARD_VERSION_MAJOR	0
#define DONARD_VERSION_MINOR	1
#define DONARD_VERSION_PATCH	0

#define DONARD_VERSION_DOTTED_(a, b, c)	#a "." #b "." #c
#define DONARD_VERSION_DOTTED(a, b, c)	DONARD_VERSION_DOTTED_(a, b, c)
/* "0.1.0" */
#define DONARD_VERSION \
	DONARD_VERSION_DOTTED(DONARD_VERSION_MAJOR, DONARD_VERSION_MINOR, DONARD_VERSION_PATCH)

#endif /* DONARD_VERSION_H */
