/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of 'top': a screen that is redrawn for each sample. */
#ifndef DONARD_TOPSCREEN_H
#define DONARD_TOPSCREEN_H

#include <stdbool.h>

/*
 * Takes standard output as the screen until cli_screen_end(), and returns true, if it is a terminal that
 * understands escapes, and this process is in the foreground.  SIGINT, SIGTERM, SIGHUP and SIGQUIT stop
 * the command; Ctrl-Z releases the terminal until the shell continues the process.
 */
bool cli_screen_begin(void);
void cli_screen_end(void);
/* Does the screen read keys as well? */
bool cli_screen_reads_keys(void);
/* Draws as many lines of the text as fit; cuts lines that are too long. */
void cli_screen_draw(const char *text);

enum cli_screen_event {
	CLI_SCREEN_TIME,	/* the time is up */
	CLI_SCREEN_RESIZED,	/* the screen was resized, or entered again after Ctrl-Z: redraw it */
	CLI_SCREEN_QUIT,	/* q was typed, a signal came, or the terminal is gone */
};

/* May be called without a screen, too; then it reads no keys. */
enum cli_screen_event cli_screen_wait(double seconds);

#endif /* DONARD_TOPSCREEN_H */
