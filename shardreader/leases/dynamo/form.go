package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// Form is how an application writes new rows.
type Form struct {
	Version Version
	Streams bool // rows say which stream they are of: KCL's multi-stream mode
}

// Version is whose rows they are.
type Version uint8

// The versions. The zero Version is what a table without leases is written as.
const (
	Adapter2 Version = iota // dynamodb-streams-kinesis-adapter 2.x on KCL 3, which has two more tables
	Adapter1                // dynamodb-streams-kinesis-adapter 1.x on KCL 1
	KCL35                   // KCL 3.5, which has one table for all
)

// String is what people call it.
func (f Form) String() string {
	s := [...]string{"adapter 2.x", "adapter 1.x", "KCL 3.5"}[f.Version]
	if f.Streams {
		s += ", several streams"
	}
	return s
}

// signs are what rows tell of their writer.
type signs struct {
	leases                  int
	entities, hash, streams bool
}

func (s *signs) see(row Item, lease bool) {
	if _, ok := row[attrEntity]; ok {
		s.entities = true
	}
	if !lease {
		return
	}
	s.leases++
	if _, ok := row[attrHashFirst]; ok {
		s.hash = true
	}
	if _, ok := row[attrStreamName]; ok {
		s.streams = true
	}
}

func (s *signs) add(t signs) {
	s.leases += t.leases
	s.entities = s.entities || t.entities
	s.hash = s.hash || t.hash
	s.streams = s.streams || t.streams
}

// form is that of a table that was known as f. Where there are no leases to tell, it stays.
func (s signs) form(f Form) Form {
	if s.leases > 0 {
		f.Streams = s.streams
		f.Version = Adapter1
		if s.hash {
			f.Version = Adapter2
		}
	}
	if s.entities {
		f.Version = KCL35
	}
	return f
}

// key is the leaseKey of a lease.
func (f Form) key(l leases.Lease) (string, error) {
	if l.Opaque != "" {
		return l.Opaque, nil
	}
	if !f.Streams {
		return l.Shard, nil
	}
	id, err := identifier(l.Stream)
	return id + ":" + l.Shard, err
}

// fresh is the row of a new lease.
func (f Form) fresh(l leases.Lease) (Item, error) {
	l.Opaque = ""
	key, err := f.key(l)
	if err != nil {
		return nil, err
	}
	row := encode(l)
	row[attrKey] = text(key)
	row[attrSwitches] = number(l.Switches)
	if f.Version != Adapter1 {
		row[attrHashFirst], row[attrHashLast] = text("0"), text("1") // KCL wants a range of hash keys of every shard; a table's streams have none
	}
	if f.Version == KCL35 {
		row[attrEntity] = text(entityLease)
	}
	if f.Streams {
		row[attrStreamName] = text(key[:len(key)-len(l.Shard)-1])
		row[attrShard] = text(l.Shard)
	}
	return row, nil
}

// isLease tells whether a row is a lease: one without entityType is, as long as it has
// anything of one.
func isLease(row Item) bool {
	v, typed := row[attrEntity]
	if !typed {
		_, counted := row[attrCounter]
		_, read := row[attrCheckpoint]
		return counted || read
	}
	s, ok := v.(*types.AttributeValueMemberS)
	return ok && s.Value == entityLease
}
