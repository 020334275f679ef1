package main

import (
	"encoding/json"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	shards    = 4
	account   = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	label     = "2026-01-01T00:00:00.000"
	shardName = "shardId-0000000170000000000000-0000000" // the number of the shard follows
	tailBytes = 512                                      // the most bytes of an answer after its records
	patience  = 200 * time.Millisecond                   // how long a reader waits for pages
)

// server answers the four operations of DynamoDB Streams for any table.
type server struct {
	pages []page
	space sync.Pool // holds *[]byte: buffers of answers that were sent

	mu      sync.Mutex
	granted map[string]int64 // number of granted pages of each shard, by table
	changed chan struct{}    // closed when granted grows
}

func newServer(pages []page) *server {
	return &server{pages: pages, granted: make(map[string]int64), changed: make(chan struct{})}
}

// grant lets a reader read n more pages of each shard of a table. It returns how many records they have.
func (s *server) grant(table string, n int64) (records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.granted[table]
	s.granted[table] += n
	for shard := range shards {
		for at := from; at < from+n; at++ {
			records += len(s.page(shard, at).numbers)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return records
}

// request holds the members of all requests.
type request struct {
	TableName, StreamArn                       string
	ShardIterator                              string
	ShardID, ShardIteratorType, SequenceNumber string
	ShardFilter                                any
}

// refusal is the error for a reader that requests something that this server does not have.
type refusal string

// ServeHTTP answers a request of an SDK.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer any
	switch op := r.Header.Get("X-Amz-Target"); op {
	case "DynamoDBStreams_20120810.GetRecords":
		answer = s.records(w, r, q)
	case "DynamoDBStreams_20120810.GetShardIterator":
		answer = shardIterator(q)
	case "DynamoDBStreams_20120810.DescribeStream":
		answer = description(q)
	case "DynamoDBStreams_20120810.ListStreams":
		answer = map[string]any{"Streams": []any{map[string]string{"StreamArn": account + q.TableName + "/stream/" + label, "TableName": q.TableName, "StreamLabel": label}}}
	default:
		answer = refusal("there is no operation " + op)
	}
	var b []byte
	switch a := answer.(type) {
	case nil:
		return // records has sent the answer
	case refusal:
		w.WriteHeader(http.StatusBadRequest)
		b, _ = json.Marshal(map[string]string{"__type": "com.amazon.coral.validate#ValidationException", "message": string(a)})
	default:
		b, _ = json.Marshal(a)
	}
	send(w, b)
}

// send sends a body with the checksum that the service sends.
func send(w http.ResponseWriter, b []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(b)), 10))
	_, _ = w.Write(b) // an error means that the reader has left
}

func description(q request) any {
	table, _, _ := strings.Cut(strings.TrimPrefix(q.StreamArn, account), "/")
	var list []any
	for i := range shards {
		list = append(list, map[string]any{"ShardId": shardName + strconv.Itoa(i), "SequenceNumberRange": map[string]string{"StartingSequenceNumber": numbered(sequence, 0)}})
	}
	if q.ShardFilter != nil {
		list = []any{} // no shard has children
	}
	return map[string]any{"StreamDescription": map[string]any{
		"StreamArn": q.StreamArn, "TableName": table, "StreamLabel": label, "StreamStatus": "ENABLED", "StreamViewType": "NEW_AND_OLD_IMAGES",
		"CreationRequestDateTime": 1767225600, "Shards": list,
		"KeySchema": []any{map[string]string{"AttributeName": "PK", "KeyType": "HASH"}, map[string]string{"AttributeName": "SK", "KeyType": "RANGE"}},
	}}
}

// shardIterator returns an iterator at the start of a shard. Every reader here begins there.
func shardIterator(q request) any {
	if q.ShardIteratorType != "TRIM_HORIZON" && q.SequenceNumber != numbered(sequence, 0) {
		return refusal("a shard is read from its start")
	}
	return map[string]string{"ShardIterator": q.StreamArn + "|" + q.ShardID + "|" + position}
}

// parseIterator returns the number of an iterator's shard, and the place of its page in the shard.
func parseIterator(iterator string) (shard int, at int64, ok bool) {
	from := max(len(iterator)-digits, 0)
	before, hasPosition := strings.CutSuffix(iterator[:from], "|position-")
	if !hasPosition || !strings.Contains(iterator, "|"+shardName) {
		return 0, 0, false
	}
	at, err := strconv.ParseInt(iterator[from:], 10, 64)
	return int(before[len(before)-1] - '0'), at, err == nil
}

// records sends a page as soon as the page is granted, and returns nil. Otherwise it returns another answer.
func (s *server) records(w http.ResponseWriter, r *http.Request, q request) any {
	rest := strings.TrimPrefix(q.ShardIterator, account)
	table, _, _ := strings.Cut(rest, "/")
	shard, at, ok := parseIterator(q.ShardIterator)
	if !ok {
		return refusal("no iterator")
	}
	if !s.await(r, table, at) {
		return map[string]any{"Records": []any{}, "NextShardIterator": q.ShardIterator}
	}
	space, _ := s.space.Get().(*[]byte)
	if space == nil {
		space = new([]byte)
	}
	defer s.space.Put(space)
	p := s.page(shard, at)
	b := append((*space)[:0], p.text...)
	for i, place := range p.numbers {
		put(b[place:], at*pageRecords+int64(i))
	}
	b = append(append(b, q.ShardIterator...), `"}`...)
	put(b[len(b)-2-digits:], at+1)
	*space = b
	send(w, b)
	return nil
}

// page returns the page at a place of a shard.
func (s *server) page(shard int, at int64) *page {
	return &s.pages[shard*shardPages+int(at%shardPages)]
}

// await waits until a page of each shard of a table is granted. It returns false if that takes too long.
func (s *server) await(r *http.Request, table string, at int64) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s.mu.Lock()
		granted, changed := s.granted[table], s.changed
		s.mu.Unlock()
		if at < granted {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-r.Context().Done():
			return false
		}
	}
}

// numbered returns text with the number n in place of its last digits.
func numbered(text string, n int64) string {
	b := []byte(text)
	put(b[len(b)-digits:], n)
	return string(b)
}
