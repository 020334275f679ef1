package dynamotest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Env is the environment variable with the endpoint of DynamoDB Local.
const Env = "TABLEWAKE_TEST_DYNAMODB"

// Server is DynamoDB Local, as one test uses it.
type Server struct {
	salt      string // of the names of worlds: a server outlives tests
	endpoint  string
	transport *http.Transport
}

// Open is the server that the environment names. Without one the test fails. The
// connections are closed when the test ends.
func Open(t testing.TB) *Server {
	t.Helper()
	endpoint := os.Getenv(Env)
	if endpoint == "" {
		t.Fatal(Env + " is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	s := &Server{salt: rand.Text(), endpoint: endpoint, transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	t.Cleanup(s.transport.CloseIdleConnections)
	return s
}

// Client is a client in a world: tables of one world are not in another. The same
// name of one Server is the same world. With faults
// they stand between; nil: nothing does.
func (s *Server) Client(world string, faults *Faults) *dynamodb.Client {
	// An access key is a world. It has letters and digits only.
	sum := sha256.Sum256([]byte(s.salt + world))
	key := hex.EncodeToString(sum[:10])
	var transport http.RoundTripper = s.transport
	if faults != nil {
		transport = faults.over(transport)
	}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(s.endpoint),
		Region:       "us-east-1",
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}, nil
		}),
	})
}
