package aws_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/test/server"
)

// Dead letters are stored completely in the place that the file names. This includes dead letters that are too large
// for a message.
func TestDeadLetters(t *testing.T) {
	cfg := sdk(server.Moto().Endpoint(t))
	name := fmt.Sprintf("dead%d", rand.Uint64())
	queues := sqs.NewFromConfig(cfg)
	queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"MessageRetentionPeriod": "1209600"}})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	letters := []pipeline.DeadLetter{
		{Pipeline: "shop", Sink: "small", Class: "write", Error: "refused", Raw: []byte(`{"n":1}`), Time: time.Unix(1, 0).UTC()},
		{Pipeline: "shop", Sink: "large", Class: "write", Error: "refused", Raw: noise, Time: time.Unix(2, 0).UTC()},
	}
	queued := "queue: '" + *queue.QueueUrl + "'"
	for place, objects := range map[string]int32{"bucket: " + name + "-letters, prefix: dead/": 2, queued: 1, queued + ", bucket: " + name + "-large": 1} {
		file := parse(t, fmt.Sprintf("sinks:\n  log: {archive: {bucket: %s-archive, prefix: changes/}}\ndead_letters: {%s}\n", name, place))
		stores := aws.Stores(cfg, aws.Create())
		kept, err := stores.DeadLetters(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.Put(t.Context(), letters); err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		bucket := name + "-archive"
		switch {
		case objects == 2:
			bucket = name + "-letters"
		case place != queued:
			bucket = name + "-large"
		}
		listed, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		if err != nil || *listed.KeyCount != objects {
			t.Errorf("%s: %s has %v objects (%v), want %d", place, bucket, listed, err, objects)
		}
		var ids []string
		store := kept.(deadletter.Store)
		for l, err := range store.Read(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, deadletter.ID(&l))
		}
		if len(ids) != 2 {
			t.Errorf("%s: %d letters, want 2", place, len(ids))
		}
		if err := store.Remove(t.Context(), ids); err != nil {
			t.Error(err)
		}
		for l := range store.Read(t.Context()) {
			t.Errorf("%s: the letter of %s is left", place, l.Sink)
		}
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}
}

// If a bucket is created only for dead letters, its objects expire after the guard retention of the state. A bucket
// that also has an archive keeps its objects.
func TestDeadLetters_Expire(t *testing.T) {
	cfg := sdk(server.Moto().Endpoint(t))
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	name := fmt.Sprintf("expire%d", rand.Uint64())
	for bucket, want := range map[string]int32{name + "-letters": 45, name + "-archive": 0} {
		file := parse(t, fmt.Sprintf("state: {table: state, guard_retention: 45d}\nsinks:\n  log: {archive: {bucket: %s-archive, prefix: changes/}}\ndead_letters: {bucket: %s}\n", name, bucket))
		stores := aws.Stores(cfg, aws.Create())
		if _, err := stores.DeadLetters(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		l, err := client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: &bucket})
		if err != nil {
			t.Fatal(err)
		}
		var days int32
		for _, r := range l.Rules {
			if r.Expiration != nil {
				days = *r.Expiration.Days
			}
		}
		if days != want {
			t.Errorf("%s: objects expire after %d days, want %d", bucket, days, want)
		}
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Who only looks creates no bucket.
func TestDeadLetters_LookOnlyCreatesNone(t *testing.T) {
	cfg := sdk(server.Moto().Endpoint(t))
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	name := fmt.Sprintf("looked%d", rand.Uint64())
	stores := aws.Stores(cfg, aws.Create(), aws.LookOnly())
	file := parse(t, fmt.Sprintf("sinks:\n  log: {archive: {bucket: %s-archive}}\ndead_letters: {bucket: %[1]s}\n", name))
	if store, err := stores.DeadLetters(t.Context(), file); err == nil || store != nil {
		t.Errorf("of a missing bucket there is the store %v (%v)", store, err)
	}
	if _, err := client.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &name}); err == nil {
		t.Error("the bucket was created")
	}
	if err := stores.Close(); err != nil {
		t.Error(err)
	}
}
