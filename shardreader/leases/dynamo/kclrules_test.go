package dynamo_test

import (
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
)

// The behaviour of KCL's serialisers for a row, by attribute: they fail on another type, or on a missing required
// attribute, and with them fails the scan of the whole table (LeaseSerializer and KinesisClientLeaseSerializer of
// 1.14.9, DynamoDBLeaseSerializer and DynamoDBMultiStreamLeaseSerializer of 2.6.0, 3.1.1 and 3.5.1).
var kclTypes = map[string]string{
	"leaseKey": "S", "leaseOwner": "S", "leaseCounter": "N", "ownerSwitchesSinceCheckpoint": "N",
	"checkpoint": "S", "checkpointSubSequenceNumber": "N", "parentShardId": "SS", "childShardIds": "SS",
	"pendingCheckpoint": "S", "pendingCheckpointSubSequenceNumber": "N", "pendingCheckpointState": "B",
	"startingHashKey": "S", "endingHashKey": "S", "throughputKBps": "N", "checkpointOwner": "S",
	"entityType": "S", "streamName": "S", "shardId": "S",
}

var (
	kclSequence = regexp.MustCompile(`^([0-9]+|TRIM_HORIZON|LATEST|AT_TIMESTAMP|SHARD_END)$`)
	kclStream   = regexp.MustCompile(`^[0-9]+:[^:]+:[0-9]+$`)
)

// parseByKCL fails the test where the version whose format it is could not read a lease's row.
func parseByKCL(t *testing.T, format dynamo.RowFormat, row dynamo.Item) {
	t.Helper()
	key := s(row, "leaseKey")
	fail := func(text string) { t.Helper(); t.Errorf("%s cannot read the row %s: %s", format, key, text) }
	for name, v := range row {
		is := strings.TrimPrefix(strings.TrimPrefix(typeOf(v), "*types.AttributeValueMember"), "types.")
		if must, known := kclTypes[name]; known && is != must {
			fail(name + " is of type " + is)
		} else if !known && !strings.HasPrefix(name, "tw_") && !strings.HasPrefix(name, "future") {
			fail(name + " is an attribute that is neither KCL's nor marked as ours")
		}
		if is == "S" && s(row, name) == "" {
			fail(name + " is empty") // KCL never writes one, and leaseOwner is a key of an index
		}
		if is == "SS" && len(ss(row, name)) == 0 {
			fail(name + " is an empty set")
		}
	}
	for _, name := range []string{"leaseKey", "checkpoint"} {
		if s(row, name) == "" {
			fail(name + " is missing")
		}
	}
	for _, name := range []string{"leaseCounter", "ownerSwitchesSinceCheckpoint", "checkpointSubSequenceNumber"} { // Long
		if _, err := strconv.ParseInt(n(row, name), 10, 64); err != nil {
			fail(name + " is " + n(row, name))
		}
	}
	if v := n(row, "throughputKBps"); v != "" { // Double
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			fail("throughputKBps is " + v)
		}
	}
	for _, name := range []string{"checkpoint", "pendingCheckpoint"} { // ExtendedSequenceNumber
		if v := s(row, name); v != "" && !kclSequence.MatchString(v) {
			fail(name + " is " + v)
		}
	}
	first, last := s(row, "startingHashKey"), s(row, "endingHashKey") // HashKeyRangeForLease
	if a, ok := new(big.Int).SetString(first, 10); first != "" {
		b, too := new(big.Int).SetString(last, 10)
		if !ok || !too || a.Cmp(b) >= 0 {
			fail("its hash keys are " + first + " to " + last)
		}
	} else if format.Version != dynamo.Adapter1 || last != "" {
		fail("it has no hash keys") // its periodic sync takes the table for incomplete
	}
	if v := s(row, "entityType"); v != "" && (v != "LEASE" || format.Version != dynamo.KCL35) {
		fail("entityType is " + v)
	}
	stream, shard := s(row, "streamName"), s(row, "shardId") // MultiStreamLease, StreamIdentifier
	switch {
	case !format.Streams && stream+shard != "":
		fail("it names a stream")
	case format.Streams && (!kclStream.MatchString(stream) || key != stream+":"+shard):
		fail("its stream is " + stream + ", its shard " + shard)
	}
}

func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberSS:
		return "SS"
	}
	return "another"
}

// leaseRows are the rows that are leases, in order.
func leaseRows(rows map[string]dynamo.Item) []dynamo.Item {
	var all []dynamo.Item
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if kind := s(rows[key], "entityType"); kind == "" || kind == "LEASE" {
			all = append(all, rows[key])
		}
	}
	return all
}

// The rules hold for rows that KCL itself wrote.
func TestKCLRules(t *testing.T) {
	for _, r := range recordings(t) {
		for _, row := range r.tables["orders-kcl"] {
			if kind := s(row, "entityType"); kind == "" || kind == "LEASE" {
				parseByKCL(t, r.format, row)
			}
		}
	}
}
