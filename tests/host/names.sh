# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which tests there are, by what the suites' files say: --only SUITE/NAME is refused before anything is built or booted if there
# is none of that name. Sourced by tests/check, never run.

# name_patterns - of the tests that the shell's text on stdin declares: the first string behind t, skip, try, or a function that
# hands its own first argument on to one of them. What is expanded in a name is "*" in its pattern.
name_patterns() {
	awk '
		BEGIN { declares["t"] = declares["skip"] = declares["try"] = declares["try_first"] }
		{ line[NR] = $0 }
		/^[a-z_]+ ?\(\)/ { name = $1; sub(/\(.*/, "", name) }
		/(^|[ \t])(t|skip|skipped|try) "\$[1@]"/ { declares[name] }
		END {
			for (i = 1; i <= NR; i++)
				for (word in declares)
					if (match(line[i], "(^|[^a-z_$-])" word " \"[^\"]*\""))
						tell(substr(line[i], RSTART, RLENGTH))
		}
		function tell(text) {
			sub(/^[^"]*"/, "", text)
			sub(/"$/, "", text)
			if (text ~ /^\$[1@]$/)
				return
			gsub(/[][*?\\]/, "\\\\&", text)
			gsub(/\$\{[^}]*\}|\$\(\([^)]*\)+|\$\([^)]*\)|\$[A-Za-z_0-9@]+/, "*", text)
			print text
		}' | sort -u
}

# text_of FUNCTION... - of these, and of all that they name.
text_of() {
	declare -f | awk -v names="$*" '
		/^[a-z_0-9]+ \(\)/ { name = $1 }
		{ text[name] = text[name] $0 "\n" }
		END {
			count = split(names, left, " ")
			for (i = 1; i <= count; i++)
				if ((left[i] in text) && !(left[i] in told))
					tell(left[i])
		}
		function tell(name, rest, word) {
			told[name]
			rest = text[name]
			printf "%s", rest
			while (match(rest, /[a-z_0-9]+/)) {
				word = substr(rest, RSTART, RLENGTH)
				if ((word in text) && !(word in told))
					left[++count] = word
				rest = substr(rest, RSTART + RLENGTH)
			}
		}'
}

# host_functions SUITE - with which it begins. What a kernel that checks itself notices is of the suite "lab" (tests/check).
host_functions() {
	echo "run_$1"
	[[ $1 != lab ]] || compgen -A function run_trouble
}

# unit_names - of the programs of tests/unit, as "FILE:NAME".
unit_names() {
	grep -oE '^static void [a-z_0-9]+\(void \*\*' tests/unit/test_*.c | sed -E 's/:static void ([a-z_0-9]+).*/:\1/'
}

# python_names FOLDER - as unittests (python.sh) prints them: what the test says of itself, if it does.
python_names() {
	sed -nE '/^ +def test_/{s/^ +def (test_[a-z_0-9]+).*/\1/; s/_/ /g; p; n; s/^ +"""([^"]*).*/\1/p}' "$1"/test_*.py
}

# names_of SUITE - patterns. A result of the host has its suite, or a part of it, before its name: it may be left out.
names_of() {
	local file=tests/guest/$1.sh
	local -a functions sourced
	if grep -qxF -- "$1" < <(matrix_suites); then
		mapfile -t sourced < <(sed -nE 's,^\. (\./)?([a-z_/]+\.sh)$,tests/guest/\2,p' "$file")
		name_patterns < <(cat "$file" "${sourced[@]}")
		return
	fi
	mapfile -t functions < <(host_functions "$1")
	name_patterns < <(text_of "${functions[@]}") | sed 'p; s/^[^:]*: //'
	case $1 in
	unit)
		unit_names | sed 's/.*://; h; p; s/^/unit-asan: /p; g; s/^/unit-tsan: /p; g; s/^/unit-valgrind: /'
		python_names tests/python | sed 'p; s/^/unit-python: /'
		;;
	report) python_names tests/bench ;;
	esac
}

# is_said NAME SUITE - each part of it between commas, where names come from that are nothing but expansions: loops of the suite,
# programs of guests, and for the suites whose tests they are, the commands of documents.
is_said() {
	local part
	local -a documents=()
	[[ $2 != recipes && $2 != newuser ]] || documents=(README.md docs/install.md)
	while IFS= read -r part; do
		grep -qFe "\"$part\"" tests/guest/*.[ch] || grep -qwFe "$part" "tests/guest/$2.sh" "${documents[@]}" 2>/dev/null || return
	done <<<"${1//, /$'\n'}"
}

# For each suite: the output of names_of.
declare -gA PATTERNS=()

# has_test SUITE NAME
has_test() {
	local pattern
	[[ -v PATTERNS[$1] ]] || PATTERNS[$1]=$(names_of "$1")
	while IFS= read -r pattern; do
		# shellcheck disable=SC2053  # a pattern
		if [[ $2 == $pattern ]]; then
			[[ $pattern == *[[:alpha:]]* ]] || is_said "$2" "$1" || continue
			return 0
		fi
	done <<<"${PATTERNS[$1]}"
	return 1
}
