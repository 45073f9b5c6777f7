package forgecmd

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/cmd/forgecmd/config"
	"forge/gitstore/fault"
)

// The scripts are urfave/cli's own (autocomplete/ in its module), made to
// stand alone: they ask forge for candidates with its hidden last flag, so
// they never go stale. fish gets a list instead.
const (
	bashCompletion = `_forge_completion() {
  local cur words cword candidates
  cur="${COMP_WORDS[COMP_CWORD]}"
  cword=$COMP_CWORD
  words=("${COMP_WORDS[@]:0:$cword}")
  if [[ "$cur" == "-"* ]]; then
    candidates=$(SHELL=bash "${words[@]}" "$cur" --generate-bash-completion 2>/dev/null)
  else
    candidates=$(SHELL=bash "${words[@]}" --generate-bash-completion 2>/dev/null)
  fi
  COMPREPLY=($(compgen -W "${candidates}" -- "${cur}"))
}

complete -o bashdefault -o default -o nospace -F _forge_completion forge
`
	zshCompletion = `#compdef forge

_forge() {
  local -a opts
  local cur
  cur=${words[-1]}
  if [[ "$cur" == "-"* ]]; then
    opts=("${(@f)$(${words[@]:0:#words[@]-1} ${cur} --generate-bash-completion)}")
  else
    opts=("${(@f)$(${words[@]:0:#words[@]-1} --generate-bash-completion)}")
  fi

  if [[ "${opts[1]}" != "" ]]; then
    _describe 'values' opts
  else
    _files
  fi
}

compdef _forge forge
`
	powershellCompletion = `Register-ArgumentCompleter -Native -CommandName forge -ScriptBlock {
    param($commandName, $wordToComplete, $cursorPosition)
    $other = "$wordToComplete --generate-bash-completion"
    Invoke-Expression $other | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
`
)

// shells are the names `forge completion` takes.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// completionCommand is `forge completion SHELL`.
func completionCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: strings.Join(shells, "|"),
		Category:  groupStart,
		Description: about{
			Text:    "Load it in the shell's start-up file; it asks forge itself, so it never goes stale.\nOnly fish gets a fixed list: print it again after an update.",
			Example: "source <(forge completion bash)",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			script, err := completionScript(c.App, c.Args().First())
			if err != nil {
				return err
			}
			fmt.Fprint(env.Stdout, script)
			return nil
		},
	}
}

// completionScript returns the script of a shell.
func completionScript(app *cli.App, shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return zshCompletion, nil
	case "powershell":
		return powershellCompletion, nil
	case "fish":
		script, err := app.ToFishCompletion()
		if err != nil {
			return "", fmt.Errorf("write the fish script: %w", err)
		}
		return script, nil
	}
	guess := ""
	if near := config.Nearest(shell, shells); near != "" {
		guess = "; did you mean " + near + "?"
	}
	return "", fault.New(fault.Usage, "one of "+strings.Join(shells, ", "), "unknown shell %q%s", shell, guess)
}
