package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// versionIdentity returns the version of a change for object names. Kinesis may deliver a change twice with different
// sequence numbers. So for a change from Kinesis the hash of the event id replaces the sequence number.
func versionIdentity(c *record.Change) string {
	version := c.Version.String()
	if !c.Version.Kinesis() || c.EventID == "" {
		return version
	}
	return version[:kinesisEpoch] + digest(c.EventID)
}

// kinesisEpoch is the length of a Kinesis version before its sequence number: the letter k and a time in microseconds.
const kinesisEpoch = 17

// kinesisDuplicates finds changes that Kinesis delivered again with another sequence number. The two changes have the
// same event id and creation time, so they are close to each other in the order of a reading.
type kinesisDuplicates struct {
	o        ReadOptions
	key      item.Key
	epoch    uint64
	eventIDs map[string]bool // event ids of the key's changes in this microsecond
}

// note notes a change, and reports whether the same change was noted before. The caller must pass entries in the order
// of key and version.
func (d *kinesisDuplicates) note(e Entry) (isDuplicate bool, err error) {
	if !e.Version.Kinesis() || d.o.rows { // a compaction keeps every line
		return false, nil
	}
	id, err := e.eventID(d.o.TableInKey)
	if err != nil || id == "" {
		return false, err
	}
	isSameMoment := d.eventIDs != nil && e.Key == d.key && e.Version.Epoch() == d.epoch
	if !isSameMoment {
		d.key, d.epoch = item.Key(strings.Clone(string(e.Key))), e.Version.Epoch()
		d.eventIDs = make(map[string]bool, 1)
	}
	isDuplicate = d.eventIDs[id]
	d.eventIDs[strings.Clone(id)] = true
	return isDuplicate, nil
}

// versionIdentity returns the [versionIdentity] of the change.
func (e Entry) versionIdentity(tableInKey bool) (string, error) {
	if !e.Version.Kinesis() {
		return e.Version.String(), nil
	}
	eventID, err := e.eventID(tableInKey)
	return versionIdentity(&record.Change{Version: e.Version, EventID: eventID}), err
}

// eventID returns the event id of the change; "" if it has none.
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
