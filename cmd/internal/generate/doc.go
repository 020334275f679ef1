// Package generate implements `tablewake generate`: Go source from a configuration.
package generate
