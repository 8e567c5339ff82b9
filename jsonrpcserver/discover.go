package jsonrpcserver

import (
	"encoding/json"

	"github.com/cupule/cupule/registry"
)

func (s *Server) discover(c *call) (json.RawMessage, *registry.Error) {
	return json.RawMessage("{}"), nil
}
