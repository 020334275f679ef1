package s3

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// letterID is an ID of [deadletter.ID] in half its bytes.
type letterID [16]byte

// idOf reads an ID; false for what is none.
func idOf(text string) (id letterID, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, false
	}
	return letterID(b), true
}

// stamp is when a letter was given up, and its place among those that were put with it.
type stamp struct {
	nanos int64
	n     int32
}

const layout = "2006-01-02/150405.000000000"

// nameOf is the name of a letter's object: the same for every attempt to put it.
func nameOf(t time.Time, n int, id string) string {
	if t.Before(time.Unix(0, 0)) {
		t = time.Unix(0, 0) // a letter without a time
	}
	return fmt.Sprintf("%s-%04d-%s.json", t.UTC().Format(layout), n, id)
}

// parse reads what nameOf wrote; false for the name of anything else.
func parse(name string) (id letterID, st stamp, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok || len(name) < len(layout)+2 {
		return id, st, false
	}
	t, err := time.Parse(layout, name[:len(layout)])
	place, of, _ := strings.Cut(name[len(layout)+1:], "-")
	n, err2 := strconv.ParseInt(place, 10, 32)
	id, known := idOf(of)
	if err != nil || err2 != nil || !known {
		return id, st, false
	}
	return id, stamp{t.UnixNano(), int32(n)}, true
}

// name is the name again.
func (s stamp) name(id letterID) string {
	return nameOf(time.Unix(0, s.nanos), int(s.n), hex.EncodeToString(id[:]))
}
