package forgecmd

import (
	"github.com/urfave/cli/v2"

	"forge/gitstore/fault"
	"forge/gitstore/skill"
)

// regionsCommand is `forge loop verify-regions` (loop.md section 9).
func regionsCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "verify-regions",
		Usage:     "tell whether a file's protected regions are the same in another version",
		ArgsUsage: "BEFORE AFTER",
		Description: about{
			Text: "A region stands between FORGE_KEEP_START and FORGE_KEEP_END, or FORGE_APPENDIX_START and\n" +
				"FORGE_APPENDIX_END, each in <!-- -->. Its bytes, its number, its order and its place in the text\n" +
				"must be the same; text around it is free.",
			Exits:   exits{1: "a region is not the same; the document says which"},
			Example: "forge loop verify-regions SKILL.md.before SKILL.md",
		}.String(),
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 2, 2); err != nil {
				return err
			}
			before, err := env.readInput(c.Args().Get(0), maxInput)
			if err != nil {
				return err
			}
			after, err := env.readInput(c.Args().Get(1), maxInput)
			if err != nil {
				return err
			}
			verification := skill.VerifyRegions(before, after)
			return env.printAnswer(verification, verification.OK, fault.Failed)
		},
	}
}

// appendixCommand is `forge loop appendix-append` (loop.md section 9).
func appendixCommand(env *Env) *cli.Command {
	var notes, named string
	return &cli.Command{
		Name:      "appendix-append",
		Usage:     "add notes to the appendix region of a skill, and nothing outside it",
		ArgsUsage: "FILE",
		UsageText: "--from-json NOTES",
		Description: about{
			Text: "NOTES is a list of texts, or an object with the list as appendix_notes. Duplicates are skipped;\n" +
				"beyond --max-notes the oldest notes go. The region is made if there is none.",
			Exits:   exits{3: "the file's region markers are not whole; it stays as it was"},
			Example: `echo '["name the file in the answer"]' | forge loop appendix-append skills/csv/SKILL.md --from-json -`,
		}.String(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from-json", Destination: &notes, Usage: "read the notes from `FILE`, or - for standard input"},
			&cli.IntFlag{Name: "max-notes", Usage: "keep at most `N` notes; default 15"},
			configFlag(&named),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1); err != nil {
				return err
			}
			if notes == "" {
				return fault.New(fault.Usage, "--from-json FILE", "no notes given")
			}
			if c.Args().First() == "-" {
				return fault.New(fault.Usage, "", "the notes are written into a file: name it")
			}
			cfg, err := env.plumbingConfig(named, givenFlags(c, map[string]string{"max-notes": "run.appendix_max_notes"}))
			if err != nil {
				return err
			}
			text, err := env.readInput(notes, maxInput)
			if err != nil {
				return err
			}
			list, err := skill.ReadNotes(text)
			if err != nil {
				return err
			}
			file := c.Args().First()
			before, err := env.readInput(file, maxInput)
			if err != nil {
				return err
			}
			appended, err := skill.AppendNotes(before, list, cfg.Run.AppendixMaxNotes)
			if err != nil {
				return fault.New(fault.KindOf(err), fault.HintOf(err), "%q: %w", file, err)
			}
			if len(appended.Added) > 0 {
				if err := env.writeFile(file, appended.Data); err != nil {
					return err
				}
			}
			return env.PrintJSON(appended)
		},
	}
}
