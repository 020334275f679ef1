package function

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/pipeline/config"
)

// configVariable is the environment variable with the location of the configuration.
const configVariable = "TABLEWAKE_CONFIG"

// layerConfigPath is the file of the configuration in a layer.
const layerConfigPath = "/opt/tablewake.yaml"

// maxConfigBytes is the largest size of a configuration, and of each file that a configuration names.
const maxConfigBytes = 1 << 20

// environment looks up the function's variables, as os.LookupEnv does.
type environment func(name string) (value string, set bool)

// loadConfig finds, reads and parses the configuration.
func loadConfig(ctx context.Context, sdk aws.Config, env environment) (*config.Config, error) {
	params := &parameters{ctx: ctx, sdk: sdk}
	location, err := configLocation(env, layerConfigPath)
	if err != nil {
		return nil, err
	}
	text, read, err := fetchConfig(ctx, sdk, env, params, location)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	cfg, err := config.ParseFrom(location, text, params.environment(env), read)
	if params.err != nil { // errors of the file are only consequences of this one
		return nil, params.err
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration is wrong (tablewake validate -c FILE tells on a laptop):\n%w", err)
	}
	return cfg, nil
}

// configLocation returns the location of the configuration: a path, s3://BUCKET/KEY or ssm:NAME. It is the value of
// configVariable. If that is not set, it is tablewake.yaml in the function's package, or else the path in layer.
// configLocation returns an error if neither file exists.
func configLocation(env environment, layer string) (string, error) {
	if location, _ := env(configVariable); location != "" {
		return location, nil
	}
	root, _ := env("LAMBDA_TASK_ROOT")
	inPackage := filepath.Join(root, "tablewake.yaml")
	for _, file := range []string{inPackage, layer} {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return file, nil
		}
	}
	return "", fmt.Errorf(
		"there is no configuration: put tablewake.yaml into the package (%s) or a layer (%s), or set %s to s3://BUCKET/KEY or ssm:NAME",
		inPackage, layer, configVariable)
}

// fetchConfig returns the text of the configuration at a location. It also returns read, a function that reads the
// files that the configuration names. These files are in the folder of the configuration. If the configuration is a
// parameter, they are in the function's package.
func fetchConfig(
	ctx context.Context, sdk aws.Config, env environment, params *parameters, location string,
) (text []byte, read func(string) ([]byte, error), err error) {
	root, _ := env("LAMBDA_TASK_ROOT")
	if url, ok := strings.CutPrefix(location, "s3://"); ok {
		bucket, key, _ := strings.Cut(url, "/")
		if bucket == "" || key == "" {
			return nil, nil, fmt.Errorf("%s=%s names no object: write s3://BUCKET/KEY", configVariable, location)
		}
		client := bucketClient(sdk)
		read = func(file string) ([]byte, error) {
			return getObject(ctx, client, bucket, path.Join(path.Dir(key), file))
		}
		text, err = getObject(ctx, client, bucket, key)
		return text, read, err
	}
	if name, ok := strings.CutPrefix(location, parameterPrefix); ok {
		value, err := params.get(name)
		return []byte(value), folderReader(root), err
	}
	text, err = folderReader("")(location)
	return text, folderReader(filepath.Dir(location)), err
}

func getObject(ctx context.Context, client *s3.Client, bucket, key string) ([]byte, error) {
	got, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, fmt.Errorf("s3://%s/%s: %w (the function's role needs s3:GetObject on it)", bucket, key, err)
	}
	defer got.Body.Close()
	b, err := readLimited(got.Body)
	if err != nil {
		return nil, fmt.Errorf("s3://%s/%s: %w", bucket, key, err)
	}
	return b, nil
}

// folderReader returns a function that reads files. Relative paths are relative to dir.
func folderReader(dir string) func(file string) ([]byte, error) {
	return func(file string) ([]byte, error) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readLimited(f)
	}
}

// readLimited reads all of r. It returns an error if r has more than maxConfigBytes bytes.
func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxConfigBytes+1))
	if err == nil && len(b) > maxConfigBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxConfigBytes)
	}
	return b, err
}
