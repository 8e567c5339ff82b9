package mcpclient
