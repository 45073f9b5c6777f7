package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"forge/gitstore/fault"
)

// Signature is who made a commit and when.
type Signature struct {
	Name  string
	Email string
	When  time.Time // whole seconds, with the zone it was made in
}

// ident is the signature as git stores it.
func (s Signature) ident() string {
	return fmt.Sprintf("%s <%s> %d %s", s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
}

// Identity returns the author and the committer of a commit made now.
//
// Names and addresses come from GIT_AUTHOR_* and GIT_COMMITTER_*, where both
// are set without starting a program, else from git's own configuration with
// its includes, as `git -c user.useConfigOnly=true var GIT_AUTHOR_IDENT` reads
// it: an address is never invented. The times are GIT_AUTHOR_DATE and
// GIT_COMMITTER_DATE, else the program's clock. No author known is a fault of
// kind Usage, as is a name or address with "<", ">" or a newline.
//
// Source: gitstore.md R-COM-4.
func (r *Repo) Identity(ctx context.Context) (author, committer Signature, err error) {
	if author, err = r.identity(ctx, "author"); err != nil {
		return Signature{}, Signature{}, err
	}
	committer, err = r.identity(ctx, "committer")
	return author, committer, err
}

// identity returns one of the two; role is "author" or "committer".
func (r *Repo) identity(ctx context.Context, role string) (Signature, error) {
	prefix := "GIT_" + strings.ToUpper(role)
	s := Signature{Name: r.env.Vars[prefix+"_NAME"], Email: r.env.Vars[prefix+"_EMAIL"]}
	if s.Name == "" || s.Email == "" {
		if err := r.completeIdentity(ctx, role, &s); err != nil {
			return Signature{}, err
		}
	}
	for _, text := range []*string{&s.Name, &s.Email} {
		trimmed := strings.TrimFunc(*text, isCrud)
		if strings.ContainsAny(*text, "<>\n\x00") {
			return Signature{}, fault.New(fault.Usage, "git config user.name and user.email, or "+prefix+"_NAME and "+prefix+"_EMAIL",
				"the %s %q must not hold <, > or a newline", role, *text)
		}
		*text = trimmed
	}
	if s.Name == "" || s.Email == "" {
		return Signature{}, noAuthor()
	}
	when, err := r.timeOf(prefix + "_DATE")
	s.When = when
	return s, err
}

// completeIdentity fills what the environment leaves open from git's
// configuration, in git's order: of the role, then of the user.
func (r *Repo) completeIdentity(ctx context.Context, role string, s *Signature) error {
	if _, err := r.gitBinary(); err != nil {
		return noAuthor() // without git includes are not followed: a wrong address is worse than none
	}
	config, err := r.askConfig(ctx)
	if err != nil {
		return fmt.Errorf("find the %s: %w", role, err)
	}
	fill := func(field *string, key string) {
		for _, section := range []string{role, "user"} {
			if *field == "" {
				*field = config[section+"."+key]
			}
		}
	}
	fill(&s.Name, "name")
	fill(&s.Email, "email")
	return nil
}

func noAuthor() error {
	return fault.New(fault.Usage, "set user.name and user.email in git, or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
		"no author is configured")
}

// isCrud reports what git strips from both ends of a name.
func isCrud(r rune) bool {
	return r <= ' ' || strings.ContainsRune(`.,:;"\'`, r)
}

// timeOf returns the time a variable names, else the program's clock.
func (r *Repo) timeOf(variable string) (time.Time, error) {
	if text := r.env.Vars[variable]; text != "" {
		when, err := parseDate(text)
		if err != nil {
			return time.Time{}, fault.New(fault.Usage, "write it as 2026-01-02T03:04:05Z", "%s %q: %w", variable, text, err)
		}
		return when, nil
	}
	if r.env.Now == nil {
		return time.Time{}, errors.New("the program's clock is not set")
	}
	return r.env.Now().Truncate(time.Second), nil
}

// parseDate reads the forms of a date that git writes and people put into
// GIT_AUTHOR_DATE: "UNIX ZONE" with or without "@", RFC 3339, ISO 8601 with a
// space, RFC 2822. Without a zone it is UTC.
func parseDate(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if when, ok := parseUnix(text); ok {
		return when, nil
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05Z07:00",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05",
		"Mon, 2 Jan 2006 15:04:05 -0700", "Mon Jan 2 15:04:05 2006 -0700",
	} {
		if when, err := time.Parse(layout, text); err == nil {
			return when.Truncate(time.Second), nil
		}
	}
	return time.Time{}, errors.New("not a date forge reads")
}

// parseUnix reads "UNIX ZONE" or "@UNIX ZONE", the zone as +HHMM; without one
// the @ must be there or the number be long enough to be no year.
func parseUnix(text string) (time.Time, bool) {
	digits, zone, hasZone := strings.Cut(strings.TrimPrefix(text, "@"), " ")
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds < 0 || !hasZone && text[0] != '@' && len(digits) < 9 {
		return time.Time{}, false
	}
	if !hasZone {
		return time.Unix(seconds, 0).UTC(), true
	}
	location, ok := parseZone(strings.TrimSpace(zone))
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).In(location), true
}

// parseZone reads +HHMM or -HHMM.
func parseZone(zone string) (*time.Location, bool) {
	if len(zone) != 5 || zone[0] != '+' && zone[0] != '-' {
		return nil, false
	}
	number, err := strconv.Atoi(zone[1:])
	if err != nil || number < 0 || number/100 > 14 || number%100 > 59 {
		return nil, false
	}
	offset := (number/100*60 + number%100) * 60
	if zone[0] == '-' {
		offset = -offset
	}
	if offset == 0 {
		return time.UTC, true
	}
	return time.FixedZone("", offset), true
}
