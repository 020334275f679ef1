package s3

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// letterID is a [deadletter.ID] in binary form.
type letterID [16]byte

// idOf parses an ID. ok is false if text is not an ID.
func idOf(text string) (id letterID, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, false
	}
	return letterID(b), true
}

// letterPosition has the time of a letter, and the index of the letter in its Put.
type letterPosition struct {
	nanos int64
	index int32
}

const layout = "2006-01-02/150405.000000000"

// nameOf returns the object name of a letter. The name is the same for every attempt to put the letter.
func nameOf(t time.Time, index int, id string) string {
	if t.Before(time.Unix(0, 0)) {
		t = time.Unix(0, 0) // a letter without a time
	}
	return fmt.Sprintf("%s-%04d-%s.json", t.UTC().Format(layout), index, id)
}

// parseName is the inverse of nameOf. ok is false if name is not the name of a letter.
func parseName(name string) (id letterID, position letterPosition, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok || len(name) < len(layout)+2 {
		return id, position, false
	}
	t, timeErr := time.Parse(layout, name[:len(layout)])
	indexText, idText, _ := strings.Cut(name[len(layout)+1:], "-")
	index, indexErr := strconv.ParseInt(indexText, 10, 32)
	id, isID := idOf(idText)
	if timeErr != nil || indexErr != nil || !isID {
		return id, position, false
	}
	return id, letterPosition{t.UnixNano(), int32(index)}, true
}

// name returns the object name of a letter.
func (p letterPosition) name(id letterID) string {
	return nameOf(time.Unix(0, p.nanos), int(p.index), hex.EncodeToString(id[:]))
}
