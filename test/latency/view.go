package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/server"
)

const file = `version: 1
name: %[1]s
source: {table: %[1]s-source, emulator: dynamodb-local, polling: {max_idle: 50ms}}
leases: {table: %[1]s-leases}
state: {table: %[1]s-state}
sinks:
  rows: {view: {table: %[1]s-rows, key: {PK: '{PK|esc}', SK: '{SK|esc}'}, attributes: {at: '{At}'}}}
`

// view is the view that `tablewake consume` writes.
type view struct {
	world           *world
	program, config string
	started         int
}

var _ reader = (*view)(nil)

func newView(w *world, dir, program string) (*view, error) {
	v := &view{world: w, program: program, config: filepath.Join(dir, "tablewake.yaml")}
	return v, os.WriteFile(v.config, fmt.Appendf(nil, file, w.name), 0o644)
}

func (*view) close() {}

// consumer is a running `tablewake consume`.
type consumer struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

func (v *view) start() (process, error) {
	v.started++
	c := &consumer{cmd: exec.Command(v.program, "consume", "-c", v.config, "--live", "--create", "--health", "off", "--worker", fmt.Sprintf("task-%d", v.started))}
	c.cmd.Env = append(os.Environ(), "AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+v.world.name, "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB="+v.world.endpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+v.world.endpoint, "AWS_ENDPOINT_URL_STS="+v.world.endpoint)
	c.cmd.Stderr = &c.log
	return c, c.cmd.Start()
}

// stop stops the consumer softly.
func (c *consumer) stop() error {
	err := c.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = c.cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("consumer: %w\n%s", err, c.log.String())
	}
	return err
}

// arrived waits until the view shows the item.
func (v *view) arrived(ctx context.Context, wr write) error {
	began := time.Now()
	for {
		got, err := v.world.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(v.world.name + "-rows"), ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: string(wr)}, "SK": &types.AttributeValueMemberS{Value: "x"},
		}})
		if _, early := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !early {
			return err
		}
		if err == nil && got.Item["at"] != nil {
			return nil
		}
		time.Sleep(max(3*time.Millisecond, min(50*time.Millisecond, time.Since(began)/20)))
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%s does not come into the view", wr)
		}
	}
}
