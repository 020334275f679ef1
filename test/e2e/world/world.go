// Package world has what tests of whole deployments share: names on the real servers for one test only, the shop's
// configuration with these names, and readers of the final contents on servers and in embedded stores. The readers
// return texts that are equal if the contents are equal.
package world

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/faults"
	"github.com/tablewake/tablewake/test/server"
)

// Names has the names of one test's resources on servers that all tests share.
type Names struct{ Pipeline, Table, State, Index, Bucket, Queue string }

// NewNames returns names that no other test has.
func NewNames() Names {
	of := "e2e-" + strings.ToLower(rand.Text()[:12])
	return Names{Pipeline: of, Table: of + "-views", State: of + "-state", Index: of + "-products", Bucket: of + "-archive", Queue: of + "-completed"}
}

// Endpoints has the URL of one server of each kind.
type Endpoints struct{ DynamoDB, OpenSearch, S3, SQS string }

// Running returns the servers that the environment names. If one is missing, the test fails.
func Running(t *testing.T) Endpoints {
	return Endpoints{
		DynamoDB: server.DynamoDB().Endpoint(t), OpenSearch: server.OpenSearch().Endpoint(t),
		S3: server.S3().Endpoint(t), SQS: server.SQS().Endpoint(t),
	}
}

// World has the resources of one test on the servers.
type World struct {
	Names
	Dead string    // a folder for dead letters
	To   Endpoints // endpoints that readers use
	SDK  awssdk.Config
	http *http.Client // for OpenSearch
}

// New makes the buckets and the queue. The pipeline makes the tables and indexes.
func New(t *testing.T, to Endpoints) *World {
	t.Helper()
	return Named(t, NewNames(), to)
}

// Named does the same as New, with names that no other test has at the same time.
func Named(t *testing.T, n Names, to Endpoints) *World {
	t.Helper()
	w := &World{Names: n, Dead: t.TempDir(), To: to, SDK: sdk(t, to), http: client(t)}
	for _, bucket := range []string{w.Bucket, w.Bucket + "-dead"} {
		if _, err := s3.NewFromConfig(w.SDK).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sqs.NewFromConfig(w.SDK).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &w.Queue}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.forget(t) })
	return w
}

// client returns a client that keeps no connection beyond the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// sdk returns the SDK's configuration as a process would load it, with an endpoint for each service.
func sdk(t *testing.T, to Endpoints) awssdk.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("[default]\nservices = local\n[services local]\ndynamodb =\n  endpoint_url = %s\ns3 =\n  endpoint_url = %s\nsqs =\n  endpoint_url = %s\n",
		to.DynamoDB, to.S3, to.SQS)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := awsconfig.LoadDefaultConfig(t.Context(),
		awsconfig.WithSharedConfigFiles([]string{file}), awsconfig.WithSharedCredentialsFiles(nil), awsconfig.WithSharedConfigProfile("default"),
		awsconfig.WithRegion(server.Region),
		awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")))
	if err != nil {
		t.Fatal(err)
	}
	cfg.HTTPClient = client(t)
	cfg.Logger = logging.Nop{} // the SDK warns of each error of DynamoDB Local, which sends no checksum
	return cfg
}

// Shop returns the fixture's configuration with the world's names.
func (w *World) Shop(t *testing.T, to Endpoints) *config.Config {
	t.Helper()
	return w.Config(t, Fixture, w.ShopText(t), to)
}

// ShopText returns the text of the fixture's configuration with the world's names.
func (w *World) ShopText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(Fixture + "tablewake.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("name: shop", "name: "+w.Pipeline, "shop-views", w.Table, "tablewake-state", w.State, "index: products", "index: "+w.Index, "index: orders", "index: "+w.Index+"-orders", "shop-archive", w.Bucket, "shop-dead", w.Bucket+"-dead")
	return own.Replace(string(b))
}

// Config parses a configuration as a file of the folder, with the world's [World.Variables].
func (w *World) Config(t *testing.T, folder, text string, to Endpoints) *config.Config {
	t.Helper()
	env := w.Variables(to)
	cfg, err := config.Parse(filepath.Join(folder, "tablewake.yaml"), []byte(text), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// Variables returns the variables that a configuration can use as ${NAME}.
func (w *World) Variables(to Endpoints) map[string]string {
	return map[string]string{
		"NAME": w.Pipeline, "VIEWS": w.Table, "STATE": w.State, "INDEX": w.Index, "BUCKET": w.Bucket, "DEAD": w.Dead,
		"OS_URL": to.OpenSearch, "COMPLETED_QUEUE": w.Queue, "MAIL_QUEUE": w.Queue,
		"TABLEWAKE_HMAC_KEY": "a key of tests, which need no secret",
	}
}

// Environment returns variables as NAME=VALUE with which a process works on the servers at those endpoints. The process
// also needs a region and credentials.
func (w *World) Environment(to Endpoints) []string {
	env := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + to.DynamoDB, "AWS_ENDPOINT_URL_S3=" + to.S3, "AWS_ENDPOINT_URL_SQS=" + to.SQS}
	for name, value := range w.Variables(to) {
		env = append(env, name+"="+value)
	}
	return env
}

// Worker returns a new pipeline on the servers at those endpoints.
func (w *World) Worker(t *testing.T, cfg *config.Config, to Endpoints) *pipeline.Pipeline {
	t.Helper()
	stores := aws.Stores(sdk(t, to), aws.Create())
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.Finite())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Proxies has the proxies in front of all servers of a world.
type Proxies []*faults.Proxy

// Proxied puts a proxy in front of each server, and returns the endpoints that a pipeline must use.
func Proxied(t *testing.T, to Endpoints) (Proxies, Endpoints) {
	t.Helper()
	ps := Proxies{faults.Before(t, to.DynamoDB), faults.Before(t, to.OpenSearch), faults.Before(t, to.S3), faults.Before(t, to.SQS)}
	return ps, Endpoints{DynamoDB: ps[0].Endpoint(), OpenSearch: ps[1].Endpoint(), S3: ps[2].Endpoint(), SQS: ps[3].Endpoint()}
}
