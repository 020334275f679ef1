package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// identityOf is a change's version as the name of an object has it. Kinesis may hold the change twice, with a
// sequence number for each: there the hash of its own eventID stands in the number's place.
func identityOf(c *record.Change) string {
	v := c.Version.String()
	if !c.Version.Kinesis() || c.EventID == "" {
		return v
	}
	return v[:kinesisEpoch] + digest(c.EventID)
}

// kinesisEpoch is the length of a version of Kinesis before its sequence number: k, and a time in microseconds.
const kinesisEpoch = 17

// copies finds the changes of Kinesis that come again with another sequence number. They have one
// eventID and one creation time, so in the order of a reading they are near each other.
type copies struct {
	o     ReadOptions
	key   item.Key
	epoch uint64
	seen  map[string]bool // eventIDs of the key's changes of that microsecond
}

// has reports whether the change of an entry was seen already. Entries come in their order.
func (c *copies) has(e Entry) (bool, error) {
	if !e.Version.Kinesis() || c.o.rows { // a compaction keeps every line
		return false, nil
	}
	id, err := e.eventID(c.o.TableInKey)
	if err != nil || id == "" {
		return false, err
	}
	if c.seen == nil || e.Key != c.key || e.Version.Epoch() != c.epoch {
		c.key, c.epoch, c.seen = item.Key(strings.Clone(string(e.Key))), e.Version.Epoch(), make(map[string]bool, 1)
	}
	again := c.seen[id]
	c.seen[strings.Clone(id)] = true
	return again, nil
}

// eventID is the change's own; "" where it has none.
func (e Entry) eventID(tableInKey bool) (string, error) {
	switch {
	case e.Change != nil:
		return e.Change.EventID, nil
	case isPlain(e.Line):
		var plain struct {
			EventID string `json:"event_id"`
		}
		if err := json.Unmarshal(e.Line, &plain); err != nil {
			return "", fmt.Errorf("archive: not an archived change: %w", err)
		}
		return plain.EventID, nil
	}
	parsed, err := parseLine(e.Line, tableInKey)
	if err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	return parsed.Change.EventID, nil
}
