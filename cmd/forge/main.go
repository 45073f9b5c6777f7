// Command forge improves a repository of agent skills, or any code with a
// metric, by experiment. The repository is the database: an experiment is a
// commit, and the audit trail is git log.
package main

import (
	"os"

	"forge/cmd/forgecmd"
)

func main() { os.Exit(forgecmd.Main()) }
