/**
 * Completion scripts for shells. They contain no commands or flags. They ask the program itself, so a script stays
 * valid after an upgrade. The program filters by the word at the cursor.
 */

export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];

/**
 * Readline splits words at `=` and `:`. The script joins such parts again, and offers what comes after `=`. It needs
 * neither the package bash-completion nor a bash newer than 3.2.
 */
const BASH = `# bash completion of karpenter: source <(karpenter completion bash)
__karpenter_complete() {
  local rest="\${COMP_LINE:0:COMP_POINT}" words=() count=0 i word trimmed
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed="\${rest#"\${rest%%[![:space:]]*}"}"
    word="\${COMP_WORDS[i]}"
    if ((i == COMP_CWORD)); then word="$trimmed"; fi
    if ((i > 0)) && [[ "$rest" == "$trimmed" ]]; then
      words[count - 1]+="$word"
    else
      words[count]="$word"
      count=$((count + 1))
    fi
    rest="\${trimmed#"$word"}"
  done
  local current="\${words[count - 1]}" prefix="" line directive=""
  if [[ "$current" == --*=* ]]; then
    [[ "$COMP_WORDBREAKS" == *=* ]] || prefix="\${current%%=*}="
    current="\${current#*=}"
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :*) directive="\${line#:}" ;;
      *) COMPREPLY+=("$prefix\${line%%$'\\t'*}") ;;
    esac
  done < <("\${words[0]/#\\~\\//$HOME/}" __complete "\${words[@]:1}" 2>/dev/null)
  if [[ "$directive" == 0 ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$prefix$line"); done < <(compgen -f -- "$current")
  fi
}
complete -F __karpenter_complete karpenter
`;

const ZSH = `#compdef karpenter
# zsh completion of karpenter: source <(karpenter completion zsh), or a file _karpenter in a folder of $fpath
_karpenter() {
  local -a candidates
  local line directive="" tab=$'\\t' word about
  for line in "\${(@f)$("\${(Q)words[1]}" __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == :* ]]; then
      directive="\${line#:}"
      continue
    fi
    word="\${line%%$tab*}"
    about="\${line#*$tab}"
    if [[ "$word" == "$line" ]]; then
      candidates+=("\${word//:/\\\\:}")
    else
      candidates+=("\${word//:/\\\\:}:$about")
    fi
  done
  compset -P '--*='
  if (( $#candidates )); then _describe karpenter candidates; fi
  if [[ "$directive" == 0 ]]; then _files; fi
}
if [[ "\${funcstack[1]}" == _karpenter ]]; then
  _karpenter "$@"
else
  compdef _karpenter karpenter
fi
`;

const FISH = `# fish completion of karpenter: karpenter completion fish | source
function __karpenter_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l prefix (string match -r -- '^--[^=]+=' "$current")
    set -l directive ""
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        if string match -q -- ':*' "$line"
            set directive (string sub -s 2 -- "$line")
        else
            printf '%s%s\\n' "$prefix" "$line"
        end
    end
    if test "$directive" = 0
        for file in (__fish_complete_path (string replace -r -- '^--[^=]+=' '' "$current"))
            printf '%s%s\\n' "$prefix" "$file"
        end
    end
end
complete -c karpenter -f -a '(__karpenter_complete)'
`;

/** The script of each shell. */
export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
