package pushdown

import (
	"slices"
	"strings"
)

// textRule is the rule of a pattern for one text of a record. The text must meet at least one of the fields; except
// only restricts anyExcept.
type textRule struct {
	equal     []string // the text is one of these
	starts    []string // the text starts with one of these
	anyExcept bool     // the text exists, and is none of except
	except    []string
	absent    bool // the text does not exist
}

func (l textRule) matches(s string) bool {
	return slices.Contains(l.equal, s) || l.anyExcept && !slices.Contains(l.except, s) ||
		slices.ContainsFunc(l.starts, func(p string) bool { return strings.HasPrefix(s, p) })
}

// matchesNothing reports whether neither a text nor the absence of a text meets l.
func (l textRule) matchesNothing() bool {
	return len(l.equal) == 0 && len(l.starts) == 0 && !l.anyExcept && !l.absent
}

// simplify returns the canonical form of l.
func (l textRule) simplify() textRule {
	if slices.Contains(l.starts, "") {
		l.anyExcept, l.except = true, nil
	}
	l.starts = sorted(l.starts) // a prefix sorts before the texts that start with it, so DeleteFunc meets it first
	l.starts = slices.DeleteFunc(l.starts, func(p string) bool {
		return slices.ContainsFunc(l.starts, func(q string) bool { return q != p && strings.HasPrefix(p, q) })
	})
	if l.anyExcept {
		rest := textRule{equal: l.equal, starts: l.starts}
		l.except = slices.DeleteFunc(sorted(l.except), rest.matches)
		l.equal, l.starts = nil, nil
		return l
	}
	l.except = nil
	starts := textRule{starts: l.starts}
	l.equal = slices.DeleteFunc(sorted(l.equal), starts.matches)
	return l
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// union returns the rule of the texts that meet l or m, or both.
func (l textRule) union(m textRule) textRule {
	u := textRule{
		equal: slices.Concat(l.equal, m.equal), starts: slices.Concat(l.starts, m.starts),
		absent: l.absent || m.absent, anyExcept: l.anyExcept || m.anyExcept,
	}
	switch {
	case l.anyExcept && m.anyExcept:
		u.except = common(l.except, m.except)
	case l.anyExcept:
		u.except = l.except
	default:
		u.except = m.except
	}
	return u.simplify()
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// intersection returns the rule of the texts that meet both l and m. If no textRule matches exactly these texts, the
// result matches more.
func (l textRule) intersection(m textRule) textRule {
	i := textRule{absent: l.absent && m.absent, anyExcept: l.anyExcept && m.anyExcept}
	if i.anyExcept {
		i.except = slices.Concat(l.except, m.except)
	}
	i.addIfMet(l, m)
	i.addIfMet(m, l)
	return i.simplify()
}

// addIfMet adds to l the texts and prefixes of x that also meet y.
func (l *textRule) addIfMet(x, y textRule) {
	for _, s := range x.equal {
		if y.matches(s) {
			l.equal = append(l.equal, s)
		}
	}
	for _, p := range x.starts {
		if y.anyExcept { // inexact: a textRule cannot exclude the texts of y.except that start with p
			l.starts = append(l.starts, p)
		}
		for _, q := range y.starts {
			if strings.HasPrefix(p, q) {
				l.starts = append(l.starts, p)
			}
		}
	}
}

// intersectionInexact reports whether l.intersection(m) also matches texts that do not meet both rules.
func (l textRule) intersectionInexact(m textRule) bool {
	return l.startsLikeExcept(m) || m.startsLikeExcept(l)
}

// startsLikeExcept reports whether l takes all texts with a prefix, and m excludes a text with this prefix.
func (l textRule) startsLikeExcept(m textRule) bool {
	starts := textRule{starts: l.starts}
	return m.anyExcept && slices.ContainsFunc(m.except, starts.matches)
}

func (l textRule) sameAs(m textRule) bool {
	return l.anyExcept == m.anyExcept && l.absent == m.absent && slices.Equal(l.equal, m.equal) &&
		slices.Equal(l.starts, m.starts) && slices.Equal(l.except, m.except)
}

// rules returns l in the syntax of a pattern. name is the last name of the text's path. If it is BOOL, the rules have
// true and false instead of texts.
func (l textRule) rules(name string) []any {
	var rules []any
	for _, s := range l.equal {
		if name == "BOOL" {
			rules = append(rules, s == "true")
		} else {
			rules = append(rules, s)
		}
	}
	for _, p := range l.starts {
		rules = append(rules, map[string]any{"prefix": p})
	}
	switch {
	case l.anyExcept && len(l.except) == 0:
		rules = append(rules, map[string]any{"exists": true})
	case l.anyExcept:
		rules = append(rules, map[string]any{"anything-but": l.except})
	}
	if l.absent {
		rules = append(rules, map[string]any{"exists": false})
	}
	return rules
}
