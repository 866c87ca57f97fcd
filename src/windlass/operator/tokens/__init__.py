"""Token: a JSON web token for one user, kept fresh in a Secret that lives and dies with it."""
