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
// means that a key matches the patterns of both entities, but a name that occurs twice has different values in it.
// Compare tries no other key.
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
		return Comparison{Overlap: Disjoint} // a table cannot have all these key attributes
	}
	texts := make(map[string]string) // a key that matches both
	var example []string
	for _, name := range attributes {
		text, ok := commonText(a.pattern(name), b.pattern(name))
		if !ok {
			return Comparison{Overlap: Disjoint}
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
	k := e.Key[at.keyIndex]
	piece, _ := k.Pattern.partOf(texts[k.Attribute], at.nameIndex)
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
	steps := map[statePair]step{start: {}} // last step to each pair of states that was found
	alphabet := alphabetOf(a, b)
	for queue := []statePair{start}; len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if machineA.accepts(current.a) && machineB.accepts(current.b) {
			return textTo(current, start, steps), true
		}
		for _, r := range alphabet {
			nextA, okA := machineA.step(current.a, r)
			nextB, okB := machineB.step(current.b, r)
			next := statePair{nextA, nextB}
			if _, wasFound := steps[next]; okA && okB && !wasFound {
				steps[next] = step{current, r}
				queue = append(queue, next)
			}
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

// machine is the automaton that matches a pattern. It has the fixed texts of the pattern, and there is a name between
// each two of them. It reads a text from the left, as [Pattern.partOf] does.
type machine [][]rune

// state is a state of a machine.
type state struct {
	literal int  // index of the fixed text that is read next, or of the last one + 1 at the end of the pattern
	matched int  // number of characters of this fixed text that have been read
	hasName bool // the name before this fixed text is not empty
}

func (p *Pattern) machine() machine {
	var m machine
	for _, literal := range p.literals {
		m = append(m, []rune(literal))
	}
	return m
}

func (m machine) start() state {
	if len(m[0]) == 0 {
		return state{literal: 1} // the pattern begins with a name
	}
	return state{}
}

// accepts reports whether the pattern matches the text that was read so far.
func (m machine) accepts(s state) bool {
	last := len(m) - 1
	endsWithName := s.literal == last && len(m[last]) == 0
	return s.literal > last || endsWithName && s.hasName
}

// step returns the state after reading a character. ok is false if no text from there is accepted.
func (m machine) step(s state, r rune) (next state, ok bool) {
	if s.literal == len(m) {
		return s, false
	}
	literal := m[s.literal]
	read := append(slices.Clone(literal[:s.matched]), r)
	s.matched = lengthOfBeginning(literal, read)
	isOfName := s.matched < len(read) // the first characters of read are no part of the fixed text
	if isOfName && s.literal == 0 {
		return s, false // no name is before the first fixed text
	}
	s.hasName = s.hasName || isOfName
	isLiteralRead := len(literal) > 0 && s.matched == len(literal)
	if !isLiteralRead {
		return s, true
	}
	hasEmptyName := s.literal > 0 && !s.hasName
	return state{literal: s.literal + 1}, !hasEmptyName
}

// lengthOfBeginning returns the largest number of characters at the end of read that are the beginning of literal.
func lengthOfBeginning(literal, read []rune) int {
	n := min(len(literal), len(read))
	for !slices.Equal(read[len(read)-n:], literal[:n]) {
		n--
	}
	return n
}
