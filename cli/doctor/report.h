/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an examination, printed as JSON or as text. */
#ifndef DONARD_DOCTOR_REPORT_H
#define DONARD_DOCTOR_REPORT_H

#include <json-c/json.h>

#include "pairs.h"

#define SUMMARY_BYTES	512

/* The machine as a whole */
enum judgement {
	JUDGED_READY, JUDGED_POSSIBLE, JUDGED_BLOCKED, JUDGED_UNKNOWN, JUDGED_UNLISTED, JUDGED_IMPOSSIBLE,
};

struct report {
	const struct examination *x;
	struct pairs pairs;
	struct json_object *gpus;	/* in the form that 'list' prints */
	enum judgement verdict;
	char summary[SUMMARY_BYTES];	/* what the verdict means here */
};

const char *judgement_word(enum judgement verdict);
/* Returns the rows of the table, which are a part of the JSON, too.  The caller owns them. */
struct json_object *pairs_json(const struct pairs *pairs);
void doctor_print_json(const struct report *report);
/* Prints the verdict first. */
void doctor_print_text(const struct report *report);

#endif /* DONARD_DOCTOR_REPORT_H */
