package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// versionIdentity returns the version of a change for object names. Kinesis may deliver a change twice, with
// different sequence numbers: then the hash of its eventID replaces the number.
func versionIdentity(c *record.Change) string {
	v := c.Version.String()
	if !c.Version.Kinesis() || c.EventID == "" {
		return v
	}
	return v[:kinesisEpoch] + digest(c.EventID)
}

// kinesisEpoch is the length of a Kinesis version before its sequence number: k, and a time in microseconds.
const kinesisEpoch = 17

// kinesisDuplicates finds changes that Kinesis delivered again with another sequence number. They have the same
// eventID and creation time, so they are close to each other in the order of a reading.
type kinesisDuplicates struct {
	o        ReadOptions
	key      item.Key
	epoch    uint64
	eventIDs map[string]bool // eventIDs of the key's changes of that microsecond
}

// has reports whether the change of an entry was seen already. Entries must be passed in order.
func (c *kinesisDuplicates) has(e Entry) (bool, error) {
	if !e.Version.Kinesis() || c.o.rows { // a compaction keeps every line
		return false, nil
	}
	id, err := e.eventID(c.o.TableInKey)
	if err != nil || id == "" {
		return false, err
	}
	if c.eventIDs == nil || e.Key != c.key || e.Version.Epoch() != c.epoch {
		c.key, c.epoch, c.eventIDs = item.Key(strings.Clone(string(e.Key))), e.Version.Epoch(), make(map[string]bool, 1)
	}
	again := c.eventIDs[id]
	c.eventIDs[strings.Clone(id)] = true
	return again, nil
}

// eventID returns the event id of the change, or "".
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
