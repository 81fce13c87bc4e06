/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of 'top': one screen that is drawn over and over. */
#ifndef DONARD_TOPSCREEN_H
#define DONARD_TOPSCREEN_H

#include <stdbool.h>

/*
 * Whether standard output is a terminal that takes escapes, with this process in the foreground;
 * then it is the screen until _end().  SIGINT, SIGTERM, SIGHUP and SIGQUIT stop; Ctrl-Z gives the
 * terminal back until the shell continues the process.
 */
bool cli_screen_begin(void);
void cli_screen_end(void);
/* Of a screen: keys are typed at it, too. */
bool cli_screen_reads_keys(void);
/* As many lines of the text as there is room for; a line that is too long is cut. */
void cli_screen_draw(const char *text);

enum cli_screen_event {
	CLI_SCREEN_TIME,	/* it is over */
	CLI_SCREEN_RESIZED,	/* or taken again: draw it */
	CLI_SCREEN_QUIT,	/* q was typed, a signal came, or the terminal is gone */
};

/* Also without a screen, when no key is read. */
enum cli_screen_event cli_screen_wait(double seconds);

#endif /* DONARD_TOPSCREEN_H */
