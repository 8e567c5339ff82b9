//go:build race

package jsonrpcserver

const raceEnabled = true
