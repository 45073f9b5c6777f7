package evals

import (
	"bytes"
	"strings"

	"forge/gitstore/schema"
)

// Command is a check that runs a program. It is a value: whoever is allowed
// to (DECISIONS T1) runs it in the directory of the outputs and asks
// [Command.Passed] about what came out.
type Command struct {
	Argv            []string // program and arguments; empty if Shell is set
	Shell           string   // a line for sh -c
	ExpectExit      int
	ExpectSubstring string // of standard output; "" is anything
}

// The placeholders of a command (skill-format.md R-SF-EV-5).
const (
	caseDir   = "{case_dir}"
	outputDir = "{output_dir}"
)

// commandOf reads the command of a check object.
func commandOf(n *schema.Node) (c Command, reason string) {
	cmd := n.Get("cmd")
	switch {
	case cmd == nil:
		return c, "it has no cmd"
	case cmd.Kind == schema.String:
		c.Shell = cmd.Text
	case cmd.Kind == schema.Array:
		for _, item := range cmd.Items {
			word, ok := item.AsText()
			if !ok {
				return c, "its cmd is no list of texts"
			}
			c.Argv = append(c.Argv, word)
		}
	}
	words := strings.Join(c.Argv, "") + c.Shell
	if strings.TrimSpace(c.Shell) == "" && (len(c.Argv) == 0 || c.Argv[0] == "") || strings.ContainsRune(words, 0) {
		return c, "its cmd is no command"
	}
	if node := n.Get("expect_exit"); node != nil {
		code, ok := node.AsInt()
		if !ok || code < 0 || code > 255 {
			return c, "its expect_exit is no exit code"
		}
		c.ExpectExit = int(code)
	}
	if node := n.Get("expect_substring"); node != nil {
		var ok bool
		if c.ExpectSubstring, ok = node.AsText(); !ok {
			return c, "its expect_substring is no text"
		}
	}
	return c, ""
}

// Expand returns program and arguments with the placeholders filled in:
// caseFiles is the directory with the eval's own files, outputs the one with
// what the run made. In a line for the shell both are quoted.
func (c Command) Expand(caseFiles, outputs string) []string {
	if c.Shell != "" {
		filled := strings.NewReplacer(caseDir, quoted(caseFiles), outputDir, quoted(outputs)).Replace(c.Shell)
		return []string{"/bin/sh", "-c", filled}
	}
	fill := strings.NewReplacer(caseDir, caseFiles, outputDir, outputs)
	argv := make([]string, len(c.Argv))
	for i, word := range c.Argv {
		argv[i] = fill.Replace(word)
	}
	return argv
}

// quoted is one word for the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Passed reports whether the command ended as the check expects.
func (c Command) Passed(exit int, stdout []byte) bool {
	return exit == c.ExpectExit && bytes.Contains(stdout, []byte(c.ExpectSubstring))
}
