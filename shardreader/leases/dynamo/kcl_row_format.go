package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// RowFormat is the format of new rows. New rows have the format of the application that wrote the present rows.
type RowFormat struct {
	Version KCLVersion
	Streams bool // rows name their stream: KCL's multi-stream mode
}

// KCLVersion is the version of the KCL that reads and writes the rows.
type KCLVersion uint8

// The versions. A table without leases has the zero Version.
const (
	Adapter2 KCLVersion = iota // dynamodb-streams-kinesis-adapter 2.x on KCL 3, which has two more tables
	Adapter1                   // dynamodb-streams-kinesis-adapter 1.x on KCL 1
	KCL35                      // KCL 3.5, which has one table for everything
)

// String returns the common name of the format.
func (f RowFormat) String() string {
	s := [...]string{"adapter 2.x", "adapter 1.x", "KCL 3.5"}[f.Version]
	if f.Streams {
		s += ", several streams"
	}
	return s
}

// formatSigns collects what the rows of a table show about their format.
type formatSigns struct {
	leases                                    int // number of rows that are leases
	hasEntityType, hasHashKeys, hasStreamName bool
}

// note adds what a row shows.
func (s *formatSigns) note(row Item) {
	if _, ok := row[attrEntity]; ok {
		s.hasEntityType = true
	}
	if !isLease(row) {
		return
	}
	s.leases++
	if _, ok := row[attrHashFirst]; ok {
		s.hasHashKeys = true
	}
	if _, ok := row[attrStreamName]; ok {
		s.hasStreamName = true
	}
}

// format returns the format that the rows show. A table without leases keeps its previous format, unless a row has an
// entityType, which shows KCL 3.5.
func (s formatSigns) format(previous RowFormat) RowFormat {
	f := previous
	if s.leases > 0 {
		f.Streams = s.hasStreamName
		f.Version = Adapter1
		if s.hasHashKeys {
			f.Version = Adapter2
		}
	}
	if s.hasEntityType {
		f.Version = KCL35
	}
	return f
}

// key returns the leaseKey of a lease.
func (f RowFormat) key(l leases.Lease) (string, error) {
	if l.Opaque != "" {
		return l.Opaque, nil
	}
	if !f.Streams {
		return l.Shard, nil
	}
	id, err := identifier(l.Stream)
	return id + ":" + l.Shard, err
}

// newRow returns the row of a new lease.
func (f RowFormat) newRow(l leases.Lease) (Item, error) {
	l.Opaque = "" // so that key makes the leaseKey of this format
	key, err := f.key(l)
	if err != nil {
		return nil, err
	}
	row := encode(l)
	row[attrKey] = textAttribute(key)
	row[attrSwitches] = number(l.Switches)
	if f.Version != Adapter1 {
		// KCL requires a range of hash keys, but shards of DynamoDB Streams have none
		row[attrHashFirst], row[attrHashLast] = textAttribute("0"), textAttribute("1")
	}
	if f.Version == KCL35 {
		row[attrEntity] = textAttribute(entityLease)
	}
	if f.Streams {
		row[attrStreamName] = textAttribute(strings.TrimSuffix(key, ":"+l.Shard))
		row[attrShard] = textAttribute(l.Shard)
	}
	return row, nil
}

// isLease reports whether a row is a lease. A row without entityType is a lease if it has a counter or a checkpoint.
func isLease(row Item) bool {
	v, hasType := row[attrEntity]
	if !hasType {
		_, hasCounter := row[attrCounter]
		_, hasCheckpoint := row[attrCheckpoint]
		return hasCounter || hasCheckpoint
	}
	s, ok := v.(*types.AttributeValueMemberS)
	return ok && s.Value == entityLease
}
