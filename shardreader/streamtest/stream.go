package streamtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// Stream is one stream of a [Server].
type Stream struct {
	server  *Server
	ref     shardreader.StreamRef
	status  shardreader.StreamStatus
	enabled time.Time
	shards  []*shard
	made    int
}

type shard struct {
	id, parent string
	first      string // sequence number at which it starts
	closed     bool
	trimmed    int // records gone from its start
	records    []stored
}

type stored struct{ sequence, raw string }

// Record is a record to put. Images and keys are DynamoDB JSON.
type Record struct {
	Event     string // Default: INSERT where there is no Old, MODIFY with both images, REMOVE without New
	Keys      string // required, unless Raw is set
	Old, New  string // Default: none
	Principal string // of a service's userIdentity. Default: none
	Raw       string // the whole record as it is to be sent; Sequence numbers are then Raw's own matter
}

// ARN is the stream's ARN.
func (st *Stream) ARN() string { return st.ref.ARN }

// Shards are the ids of the shards that are listed, oldest first.
func (st *Stream) Shards() []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	var ids []string
	for _, sh := range st.shards {
		ids = append(ids, sh.id)
	}
	return ids
}

// Put appends records to an open shard and returns their sequence numbers.
func (st *Stream) Put(shardID string, records ...Record) []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.must(shardID)
	if sh.closed {
		panic("streamtest: Put into the closed shard " + shardID)
	}
	var sequences []string
	for _, r := range records {
		seq := st.server.nextSequence()
		raw := r.Raw
		if raw == "" {
			raw = r.render(seq)
		}
		sh.records = append(sh.records, stored{seq, raw})
		sequences = append(sequences, seq)
	}
	return sequences
}

// Split closes a shard and opens n children of it; their ids are returned.
func (st *Stream) Split(shardID string, n int) []string {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.must(shardID).closed = true
	var ids []string
	for range n {
		ids = append(ids, st.addShard(shardID).id)
	}
	return ids
}

// Trim drops the oldest n records of a shard.
func (st *Stream) Trim(shardID string, n int) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	sh := st.must(shardID)
	sh.trimmed = min(sh.trimmed+n, len(sh.records))
}

// Drop makes a shard disappear.
func (st *Stream) Drop(shardID string) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.must(shardID)
	st.shards = slices.DeleteFunc(st.shards, func(sh *shard) bool { return sh.id == shardID })
}

// Disable closes the stream and its shards, which stay readable.
func (st *Stream) Disable() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.status = shardreader.Disabled
	for _, sh := range st.shards {
		sh.closed = true
	}
}

func (st *Stream) addShard(parent string) *shard {
	st.made++
	sh := &shard{
		id:     fmt.Sprintf("shardId-%020d-%08x", st.enabled.UnixMilli()+int64(st.made), st.made),
		parent: parent,
		first:  st.server.nextSequence(),
	}
	st.shards = append(st.shards, sh)
	return sh
}

func (st *Stream) find(shardID string) (*shard, *failure) {
	for _, sh := range st.shards {
		if sh.id == shardID {
			return sh, nil
		}
	}
	return nil, notFound("Requested resource not found: Shard: %s in Stream: %s not found", shardID, st.ref.ARN)
}

// must finds a shard for a test that should know it.
func (st *Stream) must(shardID string) *shard {
	sh, f := st.find(shardID)
	if f != nil {
		panic("streamtest: " + f.Error())
	}
	return sh
}

func (s *Server) nextSequence() string {
	s.records++
	return fmt.Sprintf("1%020d", s.records*100)
}

// last is the sequence number at which a closed shard ended.
func (sh *shard) last() string {
	switch {
	case !sh.closed:
		return ""
	case len(sh.records) == 0:
		return sh.first
	}
	return sh.records[len(sh.records)-1].sequence
}

func (r Record) render(seq string) string {
	event := r.Event
	if event == "" {
		switch {
		case r.Old == "":
			event = "INSERT"
		case r.New == "":
			event = "REMOVE"
		default:
			event = "MODIFY"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"awsRegion":"eu-central-1","eventID":"event-%s","eventName":%q,"eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"ApproximateCreationDateTime":%d,"Keys":%s`,
		seq, event, time.Now().Unix(), cmp.Or(r.Keys, "{}"))
	if r.New != "" {
		b.WriteString(`,"NewImage":` + r.New)
	}
	if r.Old != "" {
		b.WriteString(`,"OldImage":` + r.Old)
	}
	fmt.Fprintf(&b, `,"SequenceNumber":%q,"SizeBytes":%d,"StreamViewType":"NEW_AND_OLD_IMAGES"}`, seq, len(r.Keys)+len(r.New)+len(r.Old))
	if r.Principal != "" {
		p, err := json.Marshal(r.Principal)
		if err != nil {
			panic(err) // a string
		}
		fmt.Fprintf(&b, `,"userIdentity":{"PrincipalId":%s,"Type":"Service"}`, p)
	}
	b.WriteByte('}')
	return b.String()
}
