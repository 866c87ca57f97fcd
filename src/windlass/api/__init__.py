"""What a user may write: the custom resources. Floor 2."""
