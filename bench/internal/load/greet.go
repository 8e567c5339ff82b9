package load

import "io"

// Greet shakes hands as an MCP client does, and leaves the connection behind the answer.
func Greet(conn io.ReadWriter) error {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	if _, err := io.WriteString(conn, hello+"\n"); err != nil {
		return err
	}
	for b := []byte{0}; b[0] != '\n'; {
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}
