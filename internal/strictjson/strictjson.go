// Package strictjson reads JSON the way RFC 8259 and a careful peer mean it.
package strictjson
