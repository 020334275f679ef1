package unmarshal

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync/atomic"
)

// follower is the field that the next attribute is likely to be decoded into: the one that was
// next before, in another item or map. The items of a table have their attributes in the same
// order as a rule, so that a name is looked up only where another one was expected.
//
// Like a twin it is a guess, of which nothing but speed depends.
type follower struct{ field atomic.Pointer[structField] }

// forgetful is how many wrong guesses it takes, on the average, until a guess is changed: where
// the order changes from item to item, those that decode at once do not write all the time.
const forgetful = 32

// learn finds the field of the attribute whose raw name is from, to of b, where it was not told
// to be the one expected; nil where there is none.
func (l *follower) learn(s *fieldSet, b []byte, from, to int) *structField {
	f := s.find(b, from, to)
	if f != nil && f.mask != 0 && (l.field.Load() == nil || rand.Uint32N(forgetful) == 0) {
		l.field.Store(f)
	}
	return f
}

// setWords makes a name that is plain one that is compared by words.
func (f *structField) setWords() {
	f.head, f.tail = wordsOf([]byte(f.name), 0, len(f.name))
	f.mask = math.MaxUint64
	if n := len(f.name); n < 8 {
		f.mask = 1<<(8*n) - 1
	}
}

// begins tells whether f's name stands at from, in front of whatever. Near the end of b it says
// no.
func (f *structField) begins(b []byte, from int) bool {
	n := len(f.name)
	if from+max(n, 8) > len(b) || binary.LittleEndian.Uint64(b[from:])&f.mask != f.head {
		return false
	}
	return n <= 8 || binary.LittleEndian.Uint64(b[from+n-8:]) == f.tail && (n <= 16 || string(b[from:from+n]) == f.name)
}
