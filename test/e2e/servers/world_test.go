package servers

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

// names are what one test calls its things on servers that are everyone's.
type names struct{ pipeline, table, state, index, bucket, queue string }

func newNames() names {
	of := "e2e-" + strings.ToLower(rand.Text()[:12])
	return names{pipeline: of, table: of + "-views", state: of + "-state", index: of + "-products", bucket: of + "-archive", queue: of + "-completed"}
}

// endpoints are the URLs of one server of each kind.
type endpoints struct{ dynamoDB, openSearch, s3, sqs string }

func running(t *testing.T) endpoints {
	return endpoints{
		dynamoDB: server.DynamoDB().Endpoint(t), openSearch: server.OpenSearch().Endpoint(t),
		s3: server.S3().Endpoint(t), sqs: server.SQS().Endpoint(t),
	}
}

// world is what one test has on the servers.
type world struct {
	names
	dead string    // a folder for dead letters
	to   endpoints // as readers reach them
	sdk  awssdk.Config
	http *http.Client // for OpenSearch
}

// newWorld makes the bucket and the queue; tables and indexes are the pipeline's to make.
func newWorld(t *testing.T, to endpoints) *world {
	t.Helper()
	w := &world{names: newNames(), dead: t.TempDir(), to: to, sdk: sdk(t, to), http: client(t)}
	_, err := s3.NewFromConfig(w.sdk).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &w.bucket})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqs.NewFromConfig(w.sdk).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &w.queue}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.forget(t) })
	return w
}

// client keeps no connection beyond the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// sdk is the SDK's configuration as a process would load it, with an endpoint for each service.
func sdk(t *testing.T, to endpoints) awssdk.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("[default]\nservices = local\n[services local]\ndynamodb =\n  endpoint_url = %s\ns3 =\n  endpoint_url = %s\nsqs =\n  endpoint_url = %s\n",
		to.dynamoDB, to.s3, to.sqs)
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

// shop is the fixture's configuration with the world's names.
func (w *world) shop(t *testing.T, to endpoints) *config.Config {
	t.Helper()
	b, err := os.ReadFile(fixture + "tablewake.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("name: shop", "name: "+w.pipeline, "shop-views", w.table, "tablewake-state", w.state, "index: products", "index: "+w.index, "shop-archive", w.bucket)
	return w.config(t, fixture, own.Replace(string(b)), to)
}

// config reads a configuration as if it stood in the folder. ${OS_URL} and ${COMPLETED_QUEUE},
// ${INDEX}, ${BUCKET} and ${NAME} are the world's.
func (w *world) config(t *testing.T, folder, text string, to endpoints) *config.Config {
	t.Helper()
	env := map[string]string{"OS_URL": to.openSearch, "COMPLETED_QUEUE": w.queue, "INDEX": w.index, "BUCKET": w.bucket, "NAME": w.pipeline, "DEAD": w.dead}
	cfg, err := config.Parse(filepath.Join(folder, "tablewake.yaml"), []byte(text), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// worker is a pipeline of its own on the servers, reached by those endpoints.
func (w *world) worker(t *testing.T, cfg *config.Config, to endpoints) *pipeline.Pipeline {
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

// proxies stand before all servers of a world.
type proxies []*faults.Proxy

// proxied puts a proxy before each server; a pipeline is to use the endpoints returned.
func proxied(t *testing.T, to endpoints) (proxies, endpoints) {
	t.Helper()
	ps := proxies{faults.Before(t, to.dynamoDB), faults.Before(t, to.openSearch), faults.Before(t, to.s3), faults.Before(t, to.sqs)}
	return ps, endpoints{dynamoDB: ps[0].Endpoint(), openSearch: ps[1].Endpoint(), s3: ps[2].Endpoint(), sqs: ps[3].Endpoint()}
}
