package policy

import (
	"slices"
	"strings"
	"unicode"
)

// Statement is one statement of a policy: it allows the actions on the resources.
type Statement struct {
	Sid       string // letters and digits
	Why       string // in words
	Actions   []string
	Resources []string // ARNs
}

// document is a policy as JSON.
type document struct {
	Version   string
	Statement []jsonStatement
}

type jsonStatement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
}

// Document is a policy of these statements, to be encoded as JSON.
func Document(ss []Statement) any {
	d := document{Version: "2012-10-17"}
	for _, s := range ss {
		d.Statement = append(d.Statement, jsonStatement{Sid: s.Sid, Effect: "Allow", Action: s.Actions, Resource: s.Resources})
	}
	return d
}

// sid is words as one name of letters and digits: orders_by_status is OrdersByStatus.
func sid(words ...string) string {
	var b strings.Builder
	for _, w := range words {
		upper := true
		for _, r := range w {
			switch {
			case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
				upper = true
			case upper:
				b.WriteRune(unicode.ToUpper(r))
				upper = false
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

func actions(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
