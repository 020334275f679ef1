// Package inputs lists and decompresses the files that sources read.
package inputs
