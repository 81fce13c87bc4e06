# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# bash completion of donard-cli and donard-bench: each shell asks both for their command tables, once.

# The options of each command, "--size=SIZE --json"; kept in the shell.
declare -gA _donard_options=()

# A command whose own commands another program has is no command here: 'bench'.  All is taken at once: read and
# mapfile take a pipe byte by byte, which is most of what the first TAB in a shell costs.
_donard_read_tables()
{
	local field=$'([^\t]*)' line IFS=$'\n' -
	set -f
	for line in $({ donard-cli --dump-commands; donard-bench --dump-commands; } 2>/dev/null); do
		[[ $line =~ ^$field$'\t'$field$'\t'$field$'\t'$field ]] || continue
		if [[ ${BASH_REMATCH[1]} == option ]]; then
			_donard_options[${BASH_REMATCH[2]}]+=" ${BASH_REMATCH[3]}${BASH_REMATCH[4]:+=${BASH_REMATCH[4]}}"
		elif [[ ${BASH_REMATCH[3]} != COMMAND ]]; then
			_donard_options[${BASH_REMATCH[2]}]=''
		fi
	done
}

# bash breaks words at colons: a GPU is one word again.  Sets typed, the words up to the cursor.
_donard_typed()
{
	local word last=''
	for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if [[ $last == gpu* && ($word == :* || $last == *:) ]]; then
			last+=$word
			typed[-1]=$last
		else
			last=$word
			typed+=("$word")
		fi
	done
}

# The command that the words before the cursor begin with; sets command and after (the words it has).
_donard_command()
{
	local at=1 word
	[[ ${typed[0]} == *donard-bench ]] && command=bench
	while [[ ${typed[at]} == --json ]] && ((at < ${#typed[@]} - 1)); do at=$((at + 1)); done
	for word in "${typed[@]:at:${#typed[@]}-1-at}"; do
		[[ -n ${options[${command:-.}]+known} && $command != bench ]] && break
		command=${command:+$command }$word
	done
}

# The words that may follow those that are there: "region" and then "add".
_donard_next_words()
{
	local name
	for name in "${!options[@]}"; do
		[[ -n $command ]] || printf '%s\n' "${name%% *}"
		[[ -z $command || $name != "$command "* ]] || printf '%s\n' "${name#"$command "}"
	done | sort -u
}

_donard_regions()
{
	local node
	for node in /sys/class/p2pmem/*; do
		[[ ! -e $node ]] || printf '%s\n' "${node##*/}"
	done
}

# As many as there are: CUDA numbers them from 0 on, in an order of its own; and by their addresses.
_donard_gpus()
{
	local number=0 function
	for function in /sys/bus/pci/drivers/nvidia/*:*; do
		[[ ! -e $function ]] || printf 'gpu:%d\ngpu:%s\n' "$((number++))" "${function##*/}"
	done
}

# What the option before the cursor wants: "SIZE"; nothing when it wants none.
_donard_wanted()
{
	local option
	for option in ${options[${command:-.}]}; do
		[[ $option != "${typed[-2]}="* ]] || printf '%s\n' "${option#*=}"
	done
}

_donard_cli()
{
	local -n options=_donard_options
	# files: empty, or what compgen is to offer: f for files, d for folders
	local cur command='' words='' files='' before=''
	local -a typed=()
	((${#options[@]})) || _donard_read_tables
	_donard_typed
	cur=${typed[-1]}
	_donard_command
	case ${options[${command:-.}]+known},$(_donard_wanted),$cur in
	known,REGION,*) words=$(_donard_regions) ;;
	known,TARGET,*) words="dram $(_donard_regions) $(_donard_gpus)" ;;
	known,DRIVE,* | known,PATH,*) files=f ;;
	known,DIR,*) files=d ;;
	known,?*,*) ;;
	known,,-*)
		words=${options[${command:-.}]}
		words="--help ${words//=+([A-Z])/}"
		;;
	known,,*)
		words=$(_donard_regions) files=f
		[[ $command != @(copy|rdma serve) ]] || words+=" $(_donard_gpus)"
		;;
	*) words=$(_donard_next_words) ;;
	esac
	COMPREPLY=()
	if [[ -n $files ]]; then
		mapfile -t COMPREPLY < <(compgen "-$files" -- "$cur")
		# Of a command that has the name of a folder here, bash would make a path.
		compopt -o filenames 2>/dev/null
	fi
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$cur")
	# What stands before the last colon is no part of the word that bash replaces.
	[[ $COMP_WORDBREAKS != *:* || $cur != gpu*:* ]] || before=${cur%"${cur##*:}"}
	COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
shopt -s extglob
complete -F _donard_cli donard-cli donard-bench
