# SPDX-License-Identifier: Apache-2.0
# bash completion of donard-cli; commands and options come from its own help.
_donard_cli()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
	local words

	case $command in
	region | rdma | bench) command="$command ${COMP_WORDS[2]}" ;;
	esac
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(donard-cli help 2>/dev/null | sed -n 's/^  \([a-z0-9]*\).*/\1/p' | sort -u)
	elif [ "$COMP_CWORD" -eq 2 ] && [ "${COMP_WORDS[1]}" = bench ]; then
		words=$(donard-cli bench help 2>/dev/null | sed -n 's/^  \([a-z0-9]*\).*/\1/p')
	elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" != "${COMP_WORDS[1]}" ]; then
		words=$(donard-cli help 2>/dev/null | sed -n "s/^  ${COMP_WORDS[1]} \([a-z0-9]*\).*/\1/p")
	elif [[ $cur == -* ]]; then
		words=$(donard-cli help $command 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
	else
		words=$(cd /sys/class/p2pmem 2>/dev/null && ls)
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
	COMPREPLY+=($(compgen -W "$words" -- "$cur"))
}
complete -o filenames -F _donard_cli donard-cli
