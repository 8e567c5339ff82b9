//go:build !unix

package jsonrpcserver

import "context"

func lockFolder(context.Context, string) (unlock func(), err error) { return func() {}, nil }
