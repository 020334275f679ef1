package function

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

const file = `version: 1
name: shop
source: {table: '${TABLE}'}
sinks:
  products: {search: {connection: os, index: products, mapping: maps/products.json}}
connections: {os: {opensearch: 'https://localhost', auth: basic, user: u, password: '${PASSWORD:-none}'}}
state: {table: state}
`

const mapping = `{"properties":{}}`

// cloud serves the Parameter Store and S3. A key is the name of a parameter, or BUCKET/KEY of an object.
type cloud map[string]string

func (c cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		body, ok := c[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>`)
			return
		}
		_, _ = io.WriteString(w, body)
		return
	}
	var asked struct {
		Name           string
		WithDecryption bool
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" || !asked.WithDecryption {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	value, ok := c[asked.Name]
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"ParameterNotFound"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Name": asked.Name, "Value": value}})
}

func sdkFor(t *testing.T, c cloud) aws.Config {
	t.Helper()
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient: s.Client(), RetryMaxAttempts: 1,
	}
}

func env(pairs map[string]string) environment {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

// folder writes files into a new folder, which stands for that of a package or of a layer.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestConfigurationFromEverywhere(t *testing.T) {
	whole := folder(t, map[string]string{"tablewake.yaml": file, "maps/products.json": mapping})
	bare := folder(t, map[string]string{"maps/products.json": mapping})
	sdk := sdkFor(t, cloud{"bucket/conf/tablewake.yaml": file, "bucket/conf/maps/products.json": mapping, "/shop/config": file, "/shop/password": "sesame"})
	for _, tt := range []struct {
		name, root, place, file string
	}{
		{"package", whole, "", filepath.Join(whole, "tablewake.yaml")},
		{"path", bare, filepath.Join(whole, "tablewake.yaml"), filepath.Join(whole, "tablewake.yaml")},
		{"S3", "/nowhere", "s3://bucket/conf/tablewake.yaml", "s3://bucket/conf/tablewake.yaml"},
		{"SSM", bare, "ssm:/shop/config", "ssm:/shop/config"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := loadConfig(t.Context(), sdk, env(map[string]string{
				"LAMBDA_TASK_ROOT": tt.root, configVariable: tt.place, "TABLE": "orders", "PASSWORD": "ssm:/shop/password",
			}))
			if err != nil {
				t.Fatal(err)
			}
			if cfg.File != tt.file || cfg.Source.Tables[0].Name != "orders" || cfg.Connections[0].Password != "sesame" || string(cfg.Sinks[0].Search.Mapping) != mapping {
				t.Errorf("got %s: table %s, password %q, mapping %s", cfg.File, cfg.Source.Tables[0].Name, cfg.Connections[0].Password, cfg.Sinks[0].Search.Mapping)
			}
		})
	}
}

func TestALayerBringsTheConfiguration(t *testing.T) {
	layer := filepath.Join(folder(t, map[string]string{"tablewake.yaml": file}), "tablewake.yaml")
	place, err := configLocation(env(map[string]string{"LAMBDA_TASK_ROOT": t.TempDir()}), layer)
	if err != nil || place != layer {
		t.Errorf("got %q, %v, want %s", place, err, layer)
	}
}

// An error about a missing setting says what to do. It never shows values of parameters.
func TestErrorsSayWhatToDo(t *testing.T) {
	broken := folder(t, map[string]string{"tablewake.yaml": strings.Replace(file, "index: products", "index: PRODUCTS", 1), "maps/products.json": mapping})
	whole := folder(t, map[string]string{"tablewake.yaml": file, "maps/products.json": mapping})
	sdk := sdkFor(t, cloud{"/shop/config": "version: 1\nname: '${PASSWORD}", "/large": strings.Repeat("x", maxConfigBytes+1), "bucket/large": strings.Repeat("x", maxConfigBytes+1), "/shop/password": "sesame"})
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nowhere", map[string]string{"LAMBDA_TASK_ROOT": "/nowhere"}, "put tablewake.yaml into the package (/nowhere/tablewake.yaml) or a layer"},
		{"no such file", map[string]string{configVariable: "/nowhere/t.yaml"}, "/nowhere/t.yaml: no such file"},
		{"no key", map[string]string{configVariable: "s3://bucket"}, "write s3://BUCKET/KEY"},
		{"no object", map[string]string{configVariable: "s3://bucket/t.yaml"}, "s3:GetObject"},
		{"large object", map[string]string{configVariable: "s3://bucket/large"}, "larger than"},
		{"no name", map[string]string{configVariable: "ssm:"}, "write ssm:NAME"},
		{"no parameter", map[string]string{configVariable: "ssm:/absent"}, "the parameter /absent does not exist: put it, in the Region eu-central-1"},
		{"grammar", map[string]string{configVariable: "ssm:/shop/config", "PASSWORD": "ssm:/shop/password"}, "tablewake validate -c FILE"},
		{"wrong", map[string]string{"LAMBDA_TASK_ROOT": broken, "TABLE": "t"}, "tablewake.yaml:5:"},
		{"no secret", map[string]string{"LAMBDA_TASK_ROOT": whole, "TABLE": "t", "PASSWORD": "ssm:/absent"}, "the environment variable PASSWORD: the parameter /absent does not exist"},
		{"unset", map[string]string{"LAMBDA_TASK_ROOT": whole}, "the environment variable TABLE is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig(t.Context(), sdk, env(tt.env))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error is %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// If several variables refer to one parameter, the parameter is read once.
func TestAParameterIsReadOnce(t *testing.T) {
	c := cloud{"/p": "first"}
	p := &parameters{ctx: t.Context(), sdk: sdkFor(t, c)}
	of := p.environment(env(map[string]string{"A": "ssm:/p", "B": "ssm:/p", "C": "plain"}))
	a, _ := of("A")
	c["/p"] = "second"
	b, _ := of("B")
	plain, set := of("C")
	_, unset := of("D")
	if a != "first" || b != "first" || plain != "plain" || !set || unset || p.err != nil {
		t.Errorf("got %q, %q, %q, %v, %v, %v", a, b, plain, set, unset, p.err)
	}
}
