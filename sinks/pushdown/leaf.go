package pushdown

import (
	"slices"
	"strings"
)

// leaf is what a pattern wants of one text of a record: one of these.
type leaf struct {
	is     []string // it is one of these
	starts []string // it starts with one of these
	but    bool     // it is there, and none of not
	not    []string
	absent bool // it is not there
}

func (l leaf) matches(s string) bool {
	return slices.Contains(l.is, s) || l.but && !slices.Contains(l.not, s) ||
		slices.ContainsFunc(l.starts, func(p string) bool { return strings.HasPrefix(s, p) })
}

// impossible tells whether nothing meets l.
func (l leaf) impossible() bool {
	return len(l.is) == 0 && len(l.starts) == 0 && !l.but && !l.absent
}

// tidy is l in the one form that all its spellings have.
func (l leaf) tidy() leaf {
	if slices.Contains(l.starts, "") {
		l.but, l.not = true, nil
	}
	l.starts = sorted(l.starts)
	l.starts = slices.DeleteFunc(l.starts, func(p string) bool {
		return slices.ContainsFunc(l.starts, func(q string) bool { return q != p && strings.HasPrefix(p, q) })
	})
	rest := leaf{is: l.is, starts: l.starts}
	if l.but {
		l.not = slices.DeleteFunc(sorted(l.not), rest.matches)
		l.is, l.starts = nil, nil
		return l
	}
	l.not = nil
	starts := leaf{starts: l.starts}
	l.is = slices.DeleteFunc(sorted(l.is), starts.matches)
	return l
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// or is met by what meets l or m, and by nothing else.
func (l leaf) or(m leaf) leaf {
	u := leaf{is: slices.Concat(l.is, m.is), starts: slices.Concat(l.starts, m.starts), absent: l.absent || m.absent, but: l.but || m.but}
	switch {
	case l.but && m.but:
		u.not = common(l.not, m.not)
	case l.but:
		u.not = l.not
	default:
		u.not = m.not
	}
	return u.tidy()
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// and is met by what meets both. Where no leaf can say that, it is met by more.
func (l leaf) and(m leaf) leaf {
	i := leaf{absent: l.absent && m.absent, but: l.but && m.but}
	if i.but {
		i.not = slices.Concat(l.not, m.not)
	}
	for _, pair := range [][2]leaf{{l, m}, {m, l}} {
		x, y := pair[0], pair[1]
		for _, s := range x.is {
			if y.matches(s) {
				i.is = append(i.is, s)
			}
		}
		for _, p := range x.starts {
			if y.but { // less those of y.not that start so, which no leaf can say
				i.starts = append(i.starts, p)
			}
			for _, q := range y.starts {
				if strings.HasPrefix(p, q) {
					i.starts = append(i.starts, p)
				}
			}
		}
	}
	return i.tidy()
}

// loses tells whether l.and(m) is met by more than both.
func (l leaf) loses(m leaf) bool {
	for _, pair := range [][2]leaf{{l, m}, {m, l}} {
		starts := leaf{starts: pair[0].starts}
		if pair[1].but && slices.ContainsFunc(pair[1].not, starts.matches) {
			return true
		}
	}
	return false
}

func (l leaf) equal(m leaf) bool {
	return l.but == m.but && l.absent == m.absent && slices.Equal(l.is, m.is) && slices.Equal(l.starts, m.starts) && slices.Equal(l.not, m.not)
}

// rules are l as a pattern says it. flags: the text is that of a BOOL.
func (l leaf) rules(flags bool) []any {
	var rules []any
	for _, s := range l.is {
		if flags {
			rules = append(rules, s == "true")
		} else {
			rules = append(rules, s)
		}
	}
	for _, p := range l.starts {
		rules = append(rules, map[string]any{"prefix": p})
	}
	switch {
	case l.but && len(l.not) == 0:
		rules = append(rules, map[string]any{"exists": true})
	case l.but:
		rules = append(rules, map[string]any{"anything-but": l.not})
	}
	if l.absent {
		rules = append(rules, map[string]any{"exists": false})
	}
	return rules
}
