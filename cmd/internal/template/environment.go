package template

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Variable is a variable of the environment that a file reads.
type Variable struct {
	Name   string
	Value  string // as YAML of a template
	Secret bool   // it is a secret, or may be one: Value is ssm:NAME
	SSM    string // the parameter's name, where Secret is set
}

var (
	variable = regexp.MustCompile(`(^|[^$])\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

	// login is a URL that may hold who calls: user:password@, or a query with a token.
	login     = regexp.MustCompile(`://[^/]*@|://.*\?`)
	authority = regexp.MustCompile(`://[^/]*$`)
)

// EnvironmentOf are the variables that a file reads, in its order, as a function's
// environment: as they are now where getenv knows them, and what is a secret as the reference
// ssm:/tablewake/PIPELINE/NAME, whatever it is now. A secret is what hmac_key or password
// reads, what a sink of somebody's own is told (with), and a URL with a login or a query. The
// file is one that config.Parse takes.
func EnvironmentOf(file []byte, pipeline string, getenv func(string) (string, bool)) []Variable {
	e := environment{getenv: getenv, seen: map[visit]bool{}}
	var document yaml.Node
	if yaml.Unmarshal(file, &document) == nil {
		e.read(&document, false)
	}
	vs := slices.DeleteFunc(e.vs, func(v Variable) bool { return v.Value == "" && !v.Secret }) // it has a default
	for i := range vs {
		if vs[i].Secret {
			vs[i].SSM = "/tablewake/" + pipeline + "/" + vs[i].Name
			vs[i].Value = "ssm:" + vs[i].SSM
		}
	}
	return vs
}

// environment collects variables.
type environment struct {
	getenv func(string) (string, bool)
	vs     []Variable
	seen   map[visit]bool // an alias may lead back
}

type visit struct {
	node   *yaml.Node
	secret bool
}

// read goes through a part of a file; secret: whatever it reads is one.
func (e *environment) read(n *yaml.Node, secret bool) {
	if n == nil || e.seen[visit{n, secret}] {
		return
	}
	e.seen[visit{n, secret}] = true
	e.scalar(n.Value, secret)
	e.read(n.Alias, secret)
	for i, part := range n.Content {
		under := secret
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			under = under || slices.Contains([]string{"hmac_key", "password", "with"}, n.Content[i-1].Value)
		}
		e.read(part, under)
	}
}

// scalar notes the variables of a text.
func (e *environment) scalar(text string, secret bool) {
	for _, at := range variable.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[4]:at[5]]
		i := slices.IndexFunc(e.vs, func(v Variable) bool { return v.Name == name })
		if i < 0 {
			e.vs = append(e.vs, Variable{Name: name})
			i = len(e.vs) - 1
		}
		value, set := e.getenv(name)
		if set {
			e.vs[i].Value = yamlText(value)
		}
		within := authority.MatchString(text[:at[4]]) && strings.Contains(text[at[5]:], "@")
		e.vs[i].Secret = e.vs[i].Secret || secret || within || login.MatchString(value)
	}
}
