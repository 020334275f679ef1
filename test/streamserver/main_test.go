package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// process runs the server until its standard input ends.
type process struct {
	t        *testing.T
	endpoint string
	client   *http.Client
	parent   io.Closer
	ended    chan error
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	in, parent := io.Pipe()
	out, stdout := io.Pipe()
	p := &process{t: t, client: &http.Client{Transport: &http.Transport{}}, parent: parent, ended: make(chan error, 1)}
	go func() {
		p.ended <- run(t.Context(), args, in, stdout)
		_ = stdout.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(<-p.ended)
	}
	p.endpoint = strings.TrimSpace(line)
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// end closes the standard input, as the end of a parent process does.
func (p *process) end() {
	p.t.Helper()
	_ = p.parent.Close()
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
}

// ask calls the admin API, with POST if there is a body.
func (p *process) ask(path, body string, into any) int {
	p.t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.endpoint+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			p.t.Fatalf("%s: %v in %s", path, err, got)
		}
	}
	return resp.StatusCode
}

func (p *process) api() shardreader.API {
	return sdk.New(dynamodbstreams.New(dynamodbstreams.Options{
		Region:       "eu-central-1",
		Credentials:  credentials.NewStaticCredentialsProvider("reader-1", "secret", ""),
		HTTPClient:   p.client,
		BaseEndpoint: aws.String(p.endpoint),
	}), record.DecoderOptions{})
}

// follow applies the records of a stream to items, shard after shard in the order of the list.
func follow(t *testing.T, api shardreader.API, stream string, items map[string]string) {
	t.Helper()
	desc, err := shardreader.ListShards(t.Context(), api, stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range desc.Shards {
		it, err := api.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: stream, Shard: sh.ID, Type: shardreader.TrimHorizon})
		for err == nil && it != "" {
			var a record.GetRecordsPage
			if a, err = api.GetRecords(t.Context(), shardreader.RecordsQuery{Iterator: it, StreamARN: stream, Shard: sh.ID}); err != nil {
				break
			}
			if it = a.NextIterator; len(a.Page.Changes) == 0 && sh.Open() {
				break
			}
			for _, c := range a.Page.Changes {
				var r struct {
					Dynamodb struct{ Keys, NewImage, OldImage json.RawMessage }
				}
				if err := json.Unmarshal(c.Raw, &r); err != nil {
					t.Fatal(err)
				}
				key := string(r.Dynamodb.Keys)
				if items[key] != string(r.Dynamodb.OldImage) {
					t.Fatalf("record %s: the old image is not the new one of the record before", c.Sequence)
				}
				if items[key] = string(r.Dynamodb.NewImage); items[key] == "" {
					delete(items, key)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestServer_WhatIsReadIsWhatTheTableHolds(t *testing.T) {
	p := start(t, "-table", "orders", "-shards", "3")
	type stats struct {
		Stream         string
		Streams        []string
		Records, Items int
		Running        int
		Calls          map[string]int
		Readers        int
	}
	for range 5 {
		if status := p.ask("/admin/write", `{"records":400,"keys":50,"deletes":0.3}`, nil); status != http.StatusOK {
			t.Fatal(status)
		}
		p.ask("/admin/split", `{}`, nil)
		p.ask("/admin/split", `{"children":1,"seed":7}`, nil)
	}
	var s stats
	p.ask("/admin/stats", "", &s)
	if s.Records != 2000 || s.Running != 0 || len(s.Streams) != 1 {
		t.Errorf("stats %+v", s)
	}
	read := map[string]string{}
	follow(t, p.api(), s.Stream, read)

	var enabled struct{ Stream string }
	p.ask("/admin/enable", `{"shards":2}`, &enabled)
	p.ask("/admin/put", `{"item":{"PK":{"S":"a"},"SK":{"S":"b"}}}`, nil)
	p.ask("/admin/delete", `{"item":{"PK":{"S":"a"},"SK":{"S":"b"}},"expire":true}`, nil)
	p.ask("/admin/put", `{"item":{"PK":{"S":"a"},"SK":{"S":"c"},"N":{"N":"1"}}}`, nil)
	follow(t, p.api(), enabled.Stream, read)
	var table []json.RawMessage
	p.ask("/admin/table", "", &table)
	var want []string
	for _, item := range table {
		want = append(want, string(item))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Values(read))); diff != "" {
		t.Errorf("what is read (-table +read):\n%s", diff)
	}
	p.ask("/admin/stats", "", &s)
	if s.Stream != enabled.Stream || len(s.Streams) != 2 || s.Records != 2003 || s.Items != len(table) || s.Calls["GetRecords"] == 0 || s.Readers != 1 {
		t.Errorf("stats %+v", s)
	}
	var shards []struct{ Stream, ID, Last string }
	p.ask("/admin/shards", "", &shards)
	open := 0
	for _, sh := range shards {
		if sh.Last == "" {
			open++
		}
	}
	if open != 2 || len(shards) != 3+5*2+5+2 {
		t.Errorf("%d shards, %d of them open", len(shards), open)
	}
	p.end()
}

func TestServer_GoesOnByItself(t *testing.T) {
	p := start(t)
	p.ask("/admin/write", `{"records":1000000,"rate":2000}`, nil)
	p.ask("/admin/split", `{"every":"1ms","times":3}`, nil)
	p.ask("/admin/split", `{"every":"1h","times":0}`, nil)
	var s struct{ Records, Running int }
	for s.Records < 100 || s.Running > 2 {
		p.ask("/admin/stats", "", &s)
	}
	p.ask("/admin/stop", `{}`, nil)
	p.ask("/admin/stats", "", &s)
	written := s.Records
	p.ask("/admin/stats", "", &s)
	if s.Running != 0 || s.Records != written {
		t.Errorf("stopped, it stands at %+v after %d", s, written)
	}
	var shards []struct{ ID string }
	if p.ask("/admin/shards", "", &shards); len(shards) != 7 {
		t.Errorf("%d shards, want 7 after 3 splits", len(shards))
	}
	p.ask("/admin/write", `{"records":1000000,"rate":2000}`, nil)
	p.end()
}

func TestServer_Faults(t *testing.T) {
	p := start(t)
	p.ask("/admin/fail", `{"op":"ListStreams","fault":"denied"}`, nil)
	if _, err := p.api().ListStreams(t.Context(), "shop", ""); err == nil {
		t.Error("a fault passed by")
	}
	if _, err := p.api().ListStreams(t.Context(), "shop", ""); err != nil {
		t.Error(err)
	}
	p.ask("/admin/chaos", `{"probability":1,"faults":["denied"],"ops":["ListStreams"]}`, nil)
	for range 3 {
		if _, err := p.api().ListStreams(t.Context(), "shop", ""); err == nil {
			t.Error("a fault passed by")
		}
	}
	p.ask("/admin/chaos", `{"probability":0}`, nil)
	if _, err := p.api().ListStreams(t.Context(), "shop", ""); err != nil {
		t.Error(err)
	}
	p.end()
}

func TestServer_Refuses(t *testing.T) {
	p := start(t)
	for path, body := range map[string]string{
		"/admin/write":   `{"records":0}`,
		"/admin/put":     `{"item":{"PK":{"S":"a"}}}`,
		"/admin/delete":  `{"items":{}}`,
		"/admin/split":   `{"shard":"none"}`,
		"/admin/trim":    `{"shard":"none"}`,
		"/admin/fail":    `{"op":"GetRecords","fault":"none"}`,
		"/admin/chaos":   `{"probability":1,"faults":["none"]}`,
		"/admin/disable": `{"x":1}`,
	} {
		var e struct{ Error string }
		if status := p.ask(path, body, &e); status != http.StatusBadRequest || e.Error == "" {
			t.Errorf("%s %s: status %d, error %q", path, body, status, e.Error)
		}
	}
	p.end()
	if err := run(t.Context(), []string{"-nothing"}, bytes.NewReader(nil), io.Discard); err == nil {
		t.Error("an unknown flag passes")
	}
	if err := run(t.Context(), []string{"more"}, bytes.NewReader(nil), io.Discard); err == nil || !strings.Contains(fmt.Sprint(err), "more") {
		t.Error("an argument passes")
	}
}
