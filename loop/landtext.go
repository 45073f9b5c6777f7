package loop

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"forge/gitstore"
	"forge/loop/journal"
	"forge/loop/verdict"
)

// message is a change with the words and trailers all commits of a landing
// share. What does not fit into the subject is cut.
func (l *landing) message(subject, body string) gitstore.Change {
	return gitstore.Change{
		Subject: fold(l.run.Config.Slug+": "+subject, subjectBytes), Body: strings.TrimRight(body, "\n"),
		Trailers: []gitstore.Trailer{{Key: "Forge-Run", Value: l.run.Name}, {Key: "Forge-Skill", Value: l.run.Config.Target}},
	}
}

// notes is the message of a commit that holds no kept change (R-LAND-7, steps
// 4 and 5).
func (l *landing) notes(what string) gitstore.Change {
	change := l.message(what, "What run "+l.run.Name+" wrote down beside the changes it kept.")
	change.Trailers = append(change.Trailers, gitstore.Trailer{Key: "Forge-Action", Value: "notes"})
	return change
}

// lastNotes is the message of the commit that ends a landing.
func (l *landing) lastNotes(ctx context.Context) (gitstore.Change, error) {
	events, err := l.events(ctx)
	if err != nil {
		return gitstore.Change{}, err
	}
	change := l.notes("notes of run " + l.run.Name)
	change.Body += "\n\n" + l.upTo()
	for _, id := range events {
		change.Trailers = append(change.Trailers, gitstore.Trailer{Key: "Forge-Event", Value: id})
	}
	return change, nil
}

// upToPrefix begins the line from which a later landing knows which notes the
// branch has: a kept change says so by its experiment.
const upToPrefix = "Brings the run up to "

func (l *landing) upTo() string { return upToPrefix + string(l.run.Tip) }

// broughtUpTo reads back what upTo wrote; "" where a commit says nothing.
func broughtUpTo(c gitstore.CommitInfo) gitstore.Hash {
	for line := range strings.Lines(c.Body) {
		if commit, found := strings.CutPrefix(strings.TrimSpace(line), upToPrefix); found {
			return gitstore.Hash(commit)
		}
	}
	return ""
}

// base is the line that says on what the changes were measured, "" where that
// is the branch as it stands (R-LAND-7, step 7).
func (l *landing) base() string {
	if string(l.tip) == l.run.Config.Base {
		return ""
	}
	text := fmt.Sprintf("Measured on %s; %s was at %s when this landed", gitstore.Hash(l.run.Config.Base).Short(), shortBranch(l.branch), l.tip.Short())
	if l.touched {
		text += "; the result was not measured again"
	}
	return text + "\n"
}

// keptChange is a kept experiment with what its record says.
type keptChange struct {
	name   string
	record journal.Record
	delta  *big.Rat
}

// read reads the record of a kept experiment.
func (l *landing) read(ctx context.Context, k gitstore.CommitInfo) (keptChange, error) {
	name := k.Trailer("Forge-Experiment")
	_, _, n, err := ParseExperiment(name)
	if err != nil {
		return keptChange{}, err
	}
	record, err := journal.ReadRecord(ctx, l.engine.Repo, l.run.Tip, l.run.Name, n, name)
	if err != nil {
		return keptChange{}, err
	}
	facts, ok := record.Decision.Facts()
	if _, _, figures := record.Figures(); !ok || !figures {
		return keptChange{}, fmt.Errorf("the record of %s/%s holds no measurement", l.run.Name, name)
	}
	delta, err := verdict.ParseExact(facts.DeltaExact)
	return keptChange{name, record, delta}, err
}

// keptMessage is the message of one kept change (R-LAND-7, step 6).
func (l *landing) keptMessage(ctx context.Context, k gitstore.CommitInfo) (gitstore.Change, error) {
	kept, err := l.read(ctx, k)
	if err != nil {
		return gitstore.Change{}, err
	}
	hypothesis, tail := kept.record.Hypothesis.Text, " ("+verdict.Fixed(kept.delta, 4, true)+")"
	body := fmt.Sprintf("%s\n\n%s%sShow: forge show %s/%s\nUndo: git revert <this commit>",
		hypothesis, measuredText(kept.record, l.run.Config.Mode), l.base(), l.run.Name, kept.name)
	return gitstore.Change{
		Subject: fold(l.run.Config.Slug+": "+hypothesis, subjectBytes-len(tail)) + tail, Body: body, AuthorDate: k.Author.When,
		Trailers: slices.DeleteFunc(slices.Clone(k.Trailers), func(t gitstore.Trailer) bool { return t.Key == "Forge-Event" }),
	}, nil
}

// squashMessage is the message of all kept changes in one commit (R-LAND-5).
func (l *landing) squashMessage(ctx context.Context) (gitstore.Change, error) {
	var body strings.Builder
	var first, last keptChange
	cost := new(big.Rat)
	trailers := []gitstore.Trailer{{Key: "Forge-Run", Value: l.run.Name}}
	for n, i := range l.pending {
		kept, err := l.read(ctx, l.line[i])
		if err != nil {
			return gitstore.Change{}, err
		}
		if last = kept; n == 0 {
			first = kept
		}
		fmt.Fprintf(&body, "%s %s  %s\n", kept.name, verdict.Fixed(kept.delta, 4, true), fold(kept.record.Hypothesis.Text, 200))
		trailers = append(trailers, gitstore.Trailer{Key: "Forge-Experiment", Value: kept.name})
		if spent, ok := new(big.Rat).SetString(l.line[i].Trailer("Forge-Cost-USD")); ok {
			cost.Add(cost, spent)
		}
	}
	before, _, _ := first.record.Figures()
	_, after, _ := last.record.Figures()
	where := ""
	if l.run.Config.Mode == ModeSkill {
		where = " on val"
	}
	fmt.Fprintf(&body, "\nMeasured: %s before, %s after%s\n%s%s\nShow: forge report %s\nUndo: git revert <this commit>",
		before, after, where, l.base(), l.upTo(), l.run.Name)
	change := l.message(fmt.Sprintf("%s of run %s", count(len(l.pending), "kept change"), l.run.Name), body.String())
	change.Trailers = append(trailers, gitstore.Trailer{Key: "Forge-Skill", Value: l.run.Config.Target},
		gitstore.Trailer{Key: "Forge-Cost-USD", Value: verdict.Shortest(cost)})
	return change, nil
}
