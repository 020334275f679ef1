package entity

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Overlap says whether a key can match both of two entities.
type Overlap uint8

// The overlaps. Disjoint means that no key matches both entities. Overlapping means that a key matches both. Unproven
// means that Compare found a key that matches the patterns of both entities. But in this key, a name that occurs twice
// has different values. Another key may match both entities.
const (
	Disjoint Overlap = iota
	Overlapping
	Unproven
)

// Comparison is the result of [Compare].
type Comparison struct {
	Overlap Overlap
	Example string // a key that matches both, such as PK="USER#1" SK="ORDER#1"; "" unless Overlapping
}

// maxKeyAttributes is the maximum number of key attributes of a table.
const maxKeyAttributes = 2

// Compare decides whether a key can match both entities. It compares their patterns and ignores their conditions.
// Patterns are regular languages, so the decision is exact, unless a name is twice in one of the keys.
func Compare(a, b *Entity) Comparison {
	var attributes []string
	for _, e := range []*Entity{a, b} {
		for _, k := range e.Key {
			if !slices.Contains(attributes, k.Attribute) {
				attributes = append(attributes, k.Attribute)
			}
		}
	}
	if len(attributes) > maxKeyAttributes {
		return Comparison{} // a table cannot have all these key attributes
	}
	texts := make(map[string]string) // a key that matches both
	var example []string
	for _, name := range attributes {
		text, ok := commonText(a.pattern(name), b.pattern(name))
		if !ok {
			return Comparison{}
		}
		texts[name] = text
		example = append(example, name+"="+strconv.Quote(text))
	}
	if !a.bindsEqually(texts) || !b.bindsEqually(texts) {
		return Comparison{Overlap: Unproven}
	}
	return Comparison{Overlapping, strings.Join(example, " ")}
}

// bindsEqually reports whether each name that occurs twice binds equal texts in a key. texts has the values of the key
// attributes, by name.
func (e *Entity) bindsEqually(texts map[string]string) bool {
	for _, pair := range e.repeatedNames() {
		if e.text(texts, pair.a) != e.text(texts, pair.b) {
			return false
		}
	}
	return true
}

// text returns the text that the name at a position binds in a key; see bindsEqually.
func (e *Entity) text(texts map[string]string, at position) string {
	k := e.Key[at.key]
	piece, _ := k.Pattern.partOf(texts[k.Attribute], at.name)
	return piece
}

// anyKey is the pattern for a key attribute for which an entity has no pattern. It matches every key.
var anyKey = &Pattern{src: "{any}", literals: []string{"", ""}, names: []string{"any"}}

// commonText returns the shortest text that both patterns match. It returns false if there is none. A nil pattern
// matches every text. commonText runs the machines of both patterns side by side, and searches their pairs of states
// breadth first.
func commonText(a, b *Pattern) (string, bool) {
	a, b = cmp.Or(a, anyKey), cmp.Or(b, anyKey)
	machineA, machineB := a.machine(), b.machine()
	start := statePair{machineA.start(), machineB.start()}
	steps := map[statePair]step{} // last step to each pair of states that was found
	alphabet := alphabetOf(a, b)
	for queue := []statePair{start}; len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if machineA.accepts(current.a) && machineB.accepts(current.b) {
			return textTo(current, start, steps), true
		}
		for _, r := range alphabet {
			next := statePair{machineA.step(current.a, r), machineB.step(current.b, r)}
			_, wasFound := steps[next]
			isDead := next.a.dead || next.b.dead
			if wasFound || next == start || isDead {
				continue
			}
			steps[next] = step{current, r}
			queue = append(queue, next)
		}
	}
	return "", false
}

// statePair is a pair of states of two machines.
type statePair struct{ a, b state }

// step is the last step to a pair of states.
type step struct {
	from statePair
	by   rune
}

// textTo returns the text that leads from start to a pair of states.
func textTo(at, start statePair, steps map[statePair]step) string {
	var text []rune
	for at != start {
		text = append(text, steps[at].by)
		at = steps[at].from
	}
	slices.Reverse(text)
	return string(text)
}

// alphabetOf returns the characters of the fixed texts, and one character that is in none of them, in place of all
// other characters.
func alphabetOf(ps ...*Pattern) []rune {
	var all []rune
	for _, p := range ps {
		for _, literal := range p.literals {
			all = append(all, []rune(literal)...)
		}
	}
	other := '1'
	for slices.Contains(all, other) {
		other++
	}
	slices.Sort(all)
	return append([]rune{other}, slices.Compact(all)...)
}

// machine is the automaton that matches a pattern. It reads a text from the left, as [Pattern.partOf] does.
type machine struct {
	literals [][]rune
	names    int
}

// state is a state of a machine.
type state struct {
	name    int  // index of the name that is read; -1 in the first fixed text; machine.names after the last fixed text
	matched int  // number of characters of the next fixed text that have been read
	some    bool // the text of the name is not empty
	dead    bool // no text from here is accepted
}

func (p *Pattern) machine() machine {
	m := machine{names: len(p.names)}
	for _, literal := range p.literals {
		m.literals = append(m.literals, []rune(literal))
	}
	return m
}

func (m machine) start() state { return m.advance(state{name: -1}) }

// advance moves to the next name if the fixed text before that name was read to its end.
func (m machine) advance(s state) state {
	if s.name == m.names {
		return s // there is no next name
	}
	wasRead := s.matched == len(m.literals[s.name+1])
	neverEnds := s.name >= 0 && s.matched == 0 // no fixed text follows the name, so nothing ends it
	if !wasRead || neverEnds {
		return s
	}
	return state{name: s.name + 1}
}

// accepts reports whether the pattern matches the text that was read so far.
func (m machine) accepts(s state) bool {
	if s.name == m.names {
		return true
	}
	isInLastName := s.name >= 0 && s.name == m.names-1
	return isInLastName && s.some && len(m.literals[m.names]) == 0
}

// step returns the state after reading a character.
func (m machine) step(s state, r rune) state {
	switch {
	case s.name == m.names: // the pattern ends after the last fixed text
		return state{dead: true}
	case s.name < 0:
		if m.literals[0][s.matched] != r {
			return state{dead: true}
		}
		s.matched++
		return m.advance(s)
	}
	literal := m.literals[s.name+1]
	if len(literal) == 0 {
		s.some = true
		return s
	}
	// The last characters of read may be the beginning of the fixed text. matched is the largest number of such
	// characters. The characters before them belong to the name.
	read := append(slices.Clone(literal[:s.matched]), r)
	matched := len(read)
	for matched > 0 && !slices.Equal(read[len(read)-matched:], literal[:matched]) {
		matched--
	}
	s.matched = matched
	s.some = s.some || matched < len(read)
	if matched == len(literal) && !s.some {
		return state{dead: true} // the name would be empty
	}
	return m.advance(s)
}
