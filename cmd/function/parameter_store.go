package function

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// parameterPrefix begins a value that names a parameter of the Parameter Store.
const parameterPrefix = "ssm:"

// parameters reads parameters of the Parameter Store, each one once. It is not safe for concurrent use.
type parameters struct {
	ctx context.Context // context of the init phase, because no parameter is read later
	sdk aws.Config

	client *ssm.Client // nil until the first parameter is read
	known  map[string]string
	err    error // the first error of reading a parameter that an environment variable names
}

// get returns the decrypted value of the parameter that has the given name.
func (p *parameters) get(name string) (string, error) {
	if value, ok := p.known[name]; ok {
		return value, nil
	}
	if name == "" {
		return "", errors.New("ssm: names no parameter: write ssm:NAME")
	}
	if p.client == nil {
		p.client, p.known = ssm.NewFromConfig(p.sdk), make(map[string]string)
	}
	got, err := p.client.GetParameter(p.ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if _, absent := errors.AsType[*types.ParameterNotFound](err); absent {
		return "", fmt.Errorf("the parameter %s does not exist: put it, in the Region %s", name, p.sdk.Region)
	}
	if err != nil {
		return "", fmt.Errorf(
			"the parameter %s cannot be read: %w (the function's role needs ssm:GetParameter on it, and kms:Decrypt on its key; a secret that it refers to, secretsmanager:GetSecretValue)", name, err)
	}
	p.known[name] = aws.ToString(got.Parameter.Value)
	return p.known[name], nil
}

// environment returns a lookup of env's variables. If the value of a variable is ssm:PARAMETER, the lookup returns the
// value of that parameter. If the parameter cannot be read, the lookup reports that the variable is not set, and sets
// p.err.
func (p *parameters) environment(env environment) environment {
	return func(name string) (string, bool) {
		value, set := env(name)
		parameter, isParameter := strings.CutPrefix(value, parameterPrefix)
		if !isParameter {
			return value, set
		}
		value, err := p.get(parameter)
		if err != nil && p.err == nil {
			p.err = fmt.Errorf("the environment variable %s: %w", name, err)
		}
		return value, err == nil
	}
}
