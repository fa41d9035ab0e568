/** The program that the shells complete; kubectl itself completes `kubectl resilience` by kubectl_complete-resilience. */
const PROGRAM = "kubectl-resilience";

/** Name of the hidden command that answers. */
export const COMPLETE = "__complete";

const BASH = `_kubectl_resilience() {
  local found line word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  found=$(${PROGRAM} ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  while IFS= read -r line; do
    case "$line" in
      :*) ;;
      "$word"*) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done <<< "$found"
}
complete -o default -F _kubectl_resilience ${PROGRAM}
`;

const ZSH = `#compdef ${PROGRAM}
_kubectl_resilience() {
  local tab=$'\\t'
  local -a found
  found=(\${(f)"$(${PROGRAM} ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null | sed -e '/^:/d' -e 's/:/\\\\:/g' -e "s/$tab/:/")"})
  if (( $#found )); then _describe '${PROGRAM}' found; else _files; fi
}
compdef _kubectl_resilience ${PROGRAM}
`;

const FISH = `function __kubectl_resilience
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    test -n "$last"; or set last ''
    ${PROGRAM} ${COMPLETE} $words[2..-1] $last 2>/dev/null | string match -v -r '^:'
end
complete -c ${PROGRAM} -a '(__kubectl_resilience)'
`;

/** Completion scripts by shell. */
export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
