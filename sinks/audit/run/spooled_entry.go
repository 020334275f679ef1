package run

import (
	"encoding/binary"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/audit"
)

// spooledEntry is an entry of one sink as the spool holds it.
type spooledEntry struct {
	audit.Entry      // without its Version
	sink        int  // index in the audited sinks
	stored      bool // the sink holds it; false: the sink should hold it
	unjoined    bool // the join leaves the entry out: the recheck compares its item or place
	reading     int  // number of the reading that found a stored entry
}

// kinds has the kinds of entries. The index of a kind is its number in a spool.
var kinds = []audit.Kind{audit.Row, audit.Guard, audit.Claim, audit.Owner, audit.Contribution, audit.Group,
	audit.Document}

const (
	flagStored = 1 << iota
	flagClaimed
	flagShare
	flagUnjoined
	flagLatestOwns
)

// appendTo appends the encoded entry.
func (e *spooledEntry) appendTo(dst []byte) []byte {
	dst = append(dst, e.flags(), kindNumber(e.Kind))
	dst = binary.AppendUvarint(dst, uint64(e.sink))
	dst = binary.AppendUvarint(dst, uint64(e.reading))
	dst = append(dst, e.Digest[:]...)
	dst = appendText(dst, e.Place)
	return append(dst, e.Item...)
}

// flags returns the flags that are set.
func (e *spooledEntry) flags() (flags byte) {
	if e.stored {
		flags |= flagStored
	}
	if e.Claimed {
		flags |= flagClaimed
	}
	if e.Share {
		flags |= flagShare
	}
	if e.unjoined {
		flags |= flagUnjoined
	}
	if e.LatestOwns {
		flags |= flagLatestOwns
	}
	return flags
}

// kindNumber returns the index of a kind in kinds; 0 for the kind "".
func kindNumber(k audit.Kind) byte { return byte(max(slices.Index(kinds, k), 0)) }

// hash selects the file of the entry, so that the required and the stored entries of a place are in the same file.
func (e *spooledEntry) hash() uint64 { return hashOf(string(rune(e.sink)), string(e.Kind), e.Place) }

var errEntry = errs.New("not an entry: the work folder of the audit was changed; start the audit anew without it")

// parseEntry returns the entry that appendTo encoded.
func parseEntry(b []byte) (e spooledEntry, err error) {
	if len(b) < 2 || int(b[1]) >= len(kinds) {
		return e, errEntry
	}
	flags := b[0]
	e.stored, e.Claimed = flags&flagStored != 0, flags&flagClaimed != 0
	e.Share, e.unjoined = flags&flagShare != 0, flags&flagUnjoined != 0
	e.LatestOwns = flags&flagLatestOwns != 0
	e.Kind = kinds[b[1]]
	sink, b, hasSink := cutNumber(b[2:])
	reading, b, hasReading := cutNumber(b)
	if !hasSink || !hasReading || len(b) < len(e.Digest) {
		return e, errEntry
	}
	e.sink, e.reading = sink, reading
	b = b[copy(e.Digest[:], b):]
	length, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < length {
		return e, errEntry
	}
	texts := string(b[n:]) // one allocation for both
	e.Place, e.Item = texts[:length], item.Key(texts[length:])
	return e, nil
}

// suspect is what the recheck compares in one sink: an item, or a place whose item is unknown.
type suspect struct {
	sink         int
	item         item.Key
	places       []audit.Entry // stored entries of the item; Compare uses their Kind and Place
	lastFindings [16]byte      // digest of the last round's findings; zero before the first round
}

// appendTo appends the encoded suspect.
func (s *suspect) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.sink))
	dst = append(dst, s.lastFindings[:]...)
	dst = appendText(dst, string(s.item))
	for _, p := range s.places {
		dst = appendText(append(dst, kindNumber(p.Kind)), p.Place)
	}
	return dst
}

// appendText appends the length of s, and s.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// cutNumber returns the number at the start of b, and the rest of b. ok is false if b does not start with a number.
func cutNumber(b []byte) (v int, rest []byte, ok bool) {
	number, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return int(number), b[n:], true
}

// cutText returns the text at the start of b, and the rest of b. ok is false if b does not start with a text.
func cutText(b []byte) (text string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || uint64(len(b)-n) < length {
		return "", nil, false
	}
	return string(b[n:][:length]), b[n:][length:], true
}

// parseSuspect returns the suspect that appendTo encoded.
func parseSuspect(b []byte) (s suspect, err error) {
	sink, b, ok := cutNumber(b)
	if !ok || len(b) < len(s.lastFindings) {
		return s, errEntry
	}
	s.sink = sink
	b = b[copy(s.lastFindings[:], b):]
	key, b, ok := cutText(b)
	if !ok {
		return s, errEntry
	}
	s.item = item.Key(key)
	for len(b) > 0 {
		kind := int(b[0])
		place, rest, ok := cutText(b[1:])
		if !ok || kind >= len(kinds) {
			return s, errEntry
		}
		s.places = append(s.places, audit.Entry{Kind: kinds[kind], Place: place, Item: s.item})
		b = rest
	}
	return s, nil
}

// hash selects the file of the suspect, so that all suspects of an item are in the same file.
func (s *suspect) hash() uint64 {
	if s.item == "" {
		return hashOf("", s.places[0].Place)
	}
	return hashOf(string(s.item))
}
